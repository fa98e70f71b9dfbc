"""Jobs of `reveza jobs run --on slurm` in a Slurm of two nodes; integrations/slurm/node_test.sh runs it."""

import pathlib
import sys
import time
import unittest

import job_test
from cluster import NODES, Cluster

BUILD = pathlib.Path(sys.argv.pop(1))
FOLDER = pathlib.Path(sys.argv.pop(1))
CLUSTER = Cluster(BUILD, FOLDER)
OUT = FOLDER / "out"


def setUpModule():
    CLUSTER.start()
    unittest.addModuleCleanup(CLUSTER.stop)


job_test.JobTest.cluster, job_test.JobTest.engine, job_test.JobTest.out = CLUSTER, "slurm", OUT


class ClusterTest(job_test.NodesTest):
    nodes, slots, limit, place = NODES, 6, ("--cpus", "1"), "echo $SLURMD_NODENAME"

    def test_a_step_that_slurm_kills_for_its_memory_gets_more(self):
        line = ("echo $SLURM_MEM_PER_NODE >> LINES; "
                "python3 -c 'b = bytearray(400 << 20); import time; time.sleep(4)' {n}")
        self.finish(CLUSTER.start_job(*self.words(line, "1..1"), SBATCH_MEM_PER_NODE="200"))
        claims = list(map(int, self.written()))
        self.assertGreater(len(claims), 1)
        self.assertEqual(claims[0], 200)
        self.assertGreaterEqual(claims[-1], 400)
        self.assertLessEqual(claims[-1], 1000)

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


class Storm(job_test.StormTest):
    targets = ["home", "home", "runner", "runner", "step", "step", "slurmd", "slurmctld", "power"]

    def strike(self, what, choose):
        name = what if what == "slurmctld" else choose.choice(NODES)
        if what == "power":  # of a node, with all that runs on it
            CLUSTER.lose(name)
        else:
            CLUSTER.kill(name)
        time.sleep(choose.uniform(0, 3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
