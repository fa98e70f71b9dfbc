"""Jobs of `reveza jobs run --on ray` in a Ray of two nodes; integrations/ray/test.sh runs it."""

import os
import pathlib
import subprocess
import sys
import time
import unittest

import job_test
import processes
from cluster import MARK, NODES, PACKAGE, Cluster

BUILD, RAY, FOLDER = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
CLUSTER = Cluster(BUILD, RAY, FOLDER)
OUT = FOLDER / "out"
GIB = 1 << 30


def setUpModule():
    CLUSTER.start()
    unittest.addModuleCleanup(CLUSTER.stop)


job_test.JobTest.cluster, job_test.JobTest.engine, job_test.JobTest.out = CLUSTER, "ray", OUT


def used_memory():
    fields = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    total, available = (int(fields[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
    return total, total - available


class RayTest(job_test.NodesTest):
    nodes, slots, limit, place = NODES, 6, ("--cpus", "1"), f"echo ${MARK}"

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


class Storm(job_test.StormTest):
    targets = ["home", "home", "runner", "runner", "step", "step", "worker", "worker", "raylet", "raylet", "head", "power",
               "power"]
    seconds = 600

    def strike(self, what, choose):
        if what == "worker":  # of Ray, which runs a task
            self.kill_one(choose, [process for keeper in processes.with_words("reveza_ray.py", "task")
                                   for process in [processes.parent_of(keeper)] if process > 1])
        elif what == "raylet":
            CLUSTER.kill_raylet(choose.choice(NODES))
        else:
            CLUSTER.lose("head" if what == "head" else choose.choice(NODES))
            time.sleep(choose.uniform(0, 3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
