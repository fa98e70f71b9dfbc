"""Jobs of `reveza jobs run --on slurm` in a Slurm of two nodes; integrations/slurm/node_test.sh runs it."""

import collections
import os
import pathlib
import signal
import sys
import time
import unittest

import processes
from cluster import Cluster
from job_test import JobTest, StormTest

BUILD = pathlib.Path(sys.argv.pop(1))
FOLDER = pathlib.Path(sys.argv.pop(1))
CLUSTER = Cluster(BUILD, FOLDER)
OUT = FOLDER / "out"


def setUpModule():
    CLUSTER.start()
    unittest.addModuleCleanup(CLUSTER.stop)


JobTest.cluster, JobTest.engine, JobTest.out = CLUSTER, "slurm", OUT


class ClusterTest(JobTest):
    def test_steps_run_on_all_nodes(self):
        line = "echo $SLURMD_NODENAME >> LINES; sleep 1; echo out {n}"
        self.finish(CLUSTER.start_job(*self.words(line, "1..9", "--cpus", "1")))
        self.assertEqual(collections.Counter(self.written()).keys(), {"n1", "n2"})
        self.assertEqual(len(self.written()), 9)
        self.assertEqual(CLUSTER.jobs("logs", self.name, "n=7").stdout, "out 7\n")
        self.assertEqual({row["state"] for row in CLUSTER.table(self.name)}, {"done"})
        self.finish(CLUSTER.start_job(*self.words(line, "1..9", "--cpus", "1")))
        self.assertEqual(len(self.written()), 9)

    def test_a_killed_runner_at_home_loses_nothing(self):
        words = self.words("echo {n} >> LINES; sleep 3", "1..12")
        runner = CLUSTER.start_job(*words)
        self.await_lines(2)
        runner.kill()
        runner.wait()
        self.finish(CLUSTER.start_job(*words))
        self.assertEqual(sorted(map(int, self.written())), list(range(1, 13)))
        self.assertEqual(self.arrays(), 1)

    def test_steps_of_a_lost_node_run_on_another(self):
        words = self.words("echo start {n} >> LINES; sleep 6; echo end {n} >> LINES", "1..6")
        runner = CLUSTER.start_job(*words)
        self.await_lines(6)
        CLUSTER.lose_node("n1")
        self.finish(runner)
        ends = [line for line in self.written() if line.startswith("end")]
        self.assertEqual(len(ends), len(set(ends)), ends)
        self.assertEqual(len(ends), 6)
        self.assertEqual(self.arrays(), 2)
        CLUSTER.restart("n1")

    def test_a_step_that_slurm_kills_for_its_memory_gets_more(self):
        line = ("echo $SLURM_MEM_PER_NODE >> LINES; "
                "python3 -c 'b = bytearray(400 << 20); import time; time.sleep(4)' {n}")
        self.finish(CLUSTER.start_job(*self.words(line, "1..1"), SBATCH_MEM_PER_NODE="200"))
        claims = list(map(int, self.written()))
        self.assertGreater(len(claims), 1)
        self.assertEqual(claims[0], 200)
        self.assertGreaterEqual(claims[-1], 400)
        self.assertLessEqual(claims[-1], 1000)

    def test_cancel_ends_the_jobs_of_slurm(self):
        words = self.words("echo {n} >> LINES; [ -e LINES.go ] || sleep 600", "1..9")
        runner = CLUSTER.start_job(*words)
        self.await_lines(6)
        self.assertEqual(CLUSTER.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)
        CLUSTER.wait(lambda: CLUSTER.run("squeue", "-h").stdout == "", "empty queue")
        (OUT / f"{self.name}.go").touch()
        self.finish(CLUSTER.start_job(*words))

    def test_the_controller_may_be_gone_for_a_while(self):
        runner = CLUSTER.start_job(*self.words("echo {n} >> LINES; sleep 2", "1..12"))
        self.await_lines(2)
        CLUSTER.stop_controller()
        time.sleep(8)
        CLUSTER.restart("slurmctld")
        self.finish(runner)
        self.assertEqual(sorted(map(int, self.written())), list(range(1, 13)))

    def test_what_slurm_refuses(self):
        runner = CLUSTER.start_job(*self.words("true {n}", "1..3", "--cpus", "64"))
        self.finish(runner, 2)
        self.assertIn("sbatch: ", self.log())


class Storm(StormTest):
    targets = ["home", "home", "node", "node", "step", "step", "slurmd", "slurmctld", "power"]

    def test_storm(self):
        self.run_storm()

    def mend(self):
        CLUSTER.resume_nodes()

    def strike(self, what, choose, runner):
        if what == "home":
            runner.kill()
            runner.wait()
        elif what == "node":  # the runner in a task, alone
            found = processes.with_words("run-task")
            if found:
                os.kill(choose.choice(found), signal.SIGKILL)
        elif what == "step":  # a supervisor with its step
            found = processes.with_words("reveza-supervisor")
            if found:
                processes.kill_tree(choose.choice(found))
        else:
            name = what if what == "slurmctld" else choose.choice(["n1", "n2"])
            if what == "power":  # of a node, with all that runs on it
                CLUSTER.lose_node(name)
            else:
                CLUSTER.kill(name)
            time.sleep(choose.uniform(0, 3))
            CLUSTER.restart(name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
