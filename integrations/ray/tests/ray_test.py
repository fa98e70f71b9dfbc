"""Jobs of `reveza jobs run --on ray` in a Ray of two nodes; integrations/ray/test.sh runs it."""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

import processes
from cluster import NODES, PACKAGE, Cluster
from job_test import JobTest, StormTest

BUILD, RAY, FOLDER = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
CLUSTER = Cluster(BUILD, RAY, FOLDER)
OUT = FOLDER / "out"
GIB = 1 << 30


def setUpModule():
    CLUSTER.start()
    unittest.addModuleCleanup(CLUSTER.stop)


JobTest.cluster, JobTest.engine, JobTest.out = CLUSTER, "ray", OUT


def used_memory():
    fields = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    total, available = (int(fields[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
    return total, total - available


class RayTest(JobTest):
    def test_steps_run_on_all_nodes(self):
        line = "echo $REVEZA_TEST_NODE >> LINES; sleep 1; echo out {n}"
        self.finish(CLUSTER.start_job(*self.words(line, "1..12", "--cpus", "1")))
        self.assertEqual(collections.Counter(self.written()).keys(), set(NODES))
        self.assertEqual(len(self.written()), 12)
        self.assertEqual(CLUSTER.jobs("logs", self.name, "n=7").stdout, "out 7\n")
        self.assertEqual({row["state"] for row in CLUSTER.table(self.name)}, {"done"})
        self.finish(CLUSTER.start_job(*self.words(line, "1..12", "--cpus", "1")))
        self.assertEqual(len(self.written()), 12)

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
        CLUSTER.lose("n1")
        self.finish(runner, seconds=240)
        ends = [line for line in self.written() if line.startswith("end")]
        self.assertEqual(sorted(ends), [f"end {n}" for n in range(1, 7)])
        self.assertEqual(self.arrays(), 2)

    def test_a_step_that_ray_kills_for_the_memory_of_its_node_gets_more(self):
        total, used = used_memory()
        CLUSTER.lose("n2")
        CLUSTER.lose("n1")
        CLUSTER.restart("n1", RAY_memory_usage_threshold=str((used + 2 * GIB) / total))
        line = ("echo $REVEZA_ATTEMPT >> LINES; [ $REVEZA_ATTEMPT -gt 1 ] || "
                "python3 -c 'b = bytearray(4 << 30); import time; time.sleep(60)' {n}")
        runner = CLUSTER.start_job(*self.words(line, "1..1"))
        try:
            self.finish(runner)
        finally:
            CLUSTER.lose("n1")
        self.assertGreater(len(self.written()), 1)
        # The second array asks for memory, which the first one did not.
        for array, expected in (("array-1", False), ("array-2", True)):
            entrypoint = CLUSTER.job(OUT / "shared" / self.name / array)["entrypoint"]
            self.assertEqual('"memory"' in entrypoint, expected, entrypoint)

    def test_cancel_ends_the_tasks_of_ray(self):
        words = self.words("echo {n} >> LINES; [ -e LINES.go ] || sleep 600", "1..9")
        runner = CLUSTER.start_job(*words)
        self.await_lines(6)
        self.assertEqual(CLUSTER.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)
        self.assertEqual(processes.with_words("run-task"), [])
        (OUT / f"{self.name}.go").touch()
        self.finish(CLUSTER.start_job(*words))

    def test_stop_lets_running_steps_finish(self):
        # Ray's workers block and ignore signals that steps do not.
        line = "grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\n\\t' >> LINES; echo >> LINES; sleep 5"
        words = self.words(line, "1..9")
        runner = CLUSTER.start_job(*words)
        self.await_lines(6)
        self.assertEqual(CLUSTER.jobs("stop", self.name).returncode, 0)
        self.finish(runner, 130)
        done = [row["state"] for row in CLUSTER.table(self.name)].count("done")
        self.assertEqual(done, len(self.written()))
        self.assertLess(done, 9)
        for blocked, ignored in (re.findall("[0-9a-f]{16}", text) for text in self.written()):
            self.assertEqual((int(blocked, 16), int(ignored, 16) & 0x7FFFFFFF), (0, 0))

    def test_a_stopped_job_of_ray_leaves_no_step_and_is_handed_over_again(self):
        words = self.words("echo start >> LINES; [ -e LINES.go ] || sleep 600; echo end >> LINES", "1..3")
        runner = CLUSTER.start_job(*words)
        self.await_lines(3)
        (OUT / f"{self.name}.go").touch()
        name = CLUSTER.job(OUT / "shared" / self.name / "array-1")["submission_id"]
        self.assertTrue(CLUSTER.ask(f"/api/jobs/{name}/stop", "POST")["stopped"])
        self.finish(runner)
        self.assertEqual(self.written().count("end"), 3)
        self.assertEqual(self.arrays(), 2)

    def test_a_lost_head_loses_nothing(self):
        runner = CLUSTER.start_job(*self.words("echo {n} >> LINES; sleep 2", "1..12"))
        self.await_lines(4)
        CLUSTER.lose("head")
        time.sleep(5)
        CLUSTER.wait(CLUSTER.is_idle, "nodes", 180)
        self.finish(runner, seconds=240)
        self.assertEqual(sorted(map(int, self.written())), list(range(1, 13)))

    def test_what_no_node_has_is_said(self):
        runner = CLUSTER.start_job(*self.words("true {n}", "1..3", "--cpus", "64"))
        CLUSTER.wait(lambda: "no node has 64 CPU" in CLUSTER.jobs("why", self.name).stdout, "reason")
        self.assertEqual(CLUSTER.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)

    def test_calls_of_python(self):
        script = OUT / "script.py"
        script.write_text("import reveza, operator\n"
                          "with reveza.Executor('calls', on='ray', shared='shared') as executor:\n"
                          "    print(list(executor.map(operator.mul, range(4), range(4))))\n")
        done = subprocess.run([sys.executable, "-B", script], capture_output=True, text=True, check=False, timeout=120,
                              cwd=OUT, env={**CLUSTER.home(), "PYTHONPATH": str(PACKAGE),
                                            "PATH": f"{CLUSTER.program.parent}:{os.environ['PATH']}"})
        self.assertEqual(done.stdout, "[0, 1, 4, 9]\n", done.stderr)


class Storm(StormTest):
    targets = ["home", "home", "node", "node", "step", "step", "worker", "worker", "raylet", "raylet", "head", "power",
               "power"]
    seconds = 600

    def test_storm(self):
        self.run_storm()

    def mend(self):
        CLUSTER.mend()

    def strike(self, what, choose, runner):
        if what == "home":
            runner.kill()
            runner.wait()
        elif what == "node":  # the runner in a task, alone
            self.kill_one(choose, processes.with_words("run-task"))
        elif what == "step":  # a supervisor with its step
            found = processes.with_words("reveza-supervisor")
            if found:
                processes.kill_tree(choose.choice(found))
        elif what == "worker":  # of Ray, which runs a task
            self.kill_one(choose, [process for keeper in processes.with_words("reveza_ray.py", "task")
                                   for process in [processes.parent_of(keeper)] if process > 1])
        elif what == "raylet":
            CLUSTER.kill_raylet(choose.choice(NODES))
        else:
            CLUSTER.lose("head" if what == "head" else choose.choice(NODES))
            time.sleep(choose.uniform(0, 3))

    @staticmethod
    def kill_one(choose, found):
        if found:
            os.kill(choose.choice(found), signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(verbosity=2)
