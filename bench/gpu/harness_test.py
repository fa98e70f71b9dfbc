"""Tests of the GPU bench driver with programs that need no GPU."""

import os
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bench  # noqa: E402
import sections  # noqa: E402
import workload  # noqa: E402
from harness import Harness, Job, Reveza  # noqa: E402


def script(name, text):
    return Job(name, [sys.executable, "-c", text])


class HarnessTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.harness = Harness(self._folder.name, self._folder.name, True, time.time() + 300, 1.0)
        self.harness.log = lambda text: None

    def tearDown(self):
        self.harness.close()
        self._folder.cleanup()

    def test_takes_the_last_json_object_of_the_output(self):
        outcome = self.harness.alone(script("a", "print('{\"hash\": 1}\\n{\"hash\": 2}\\n[3]\\nx')"))
        self.assertEqual(outcome.status, 0)
        self.assertEqual(outcome.result, {"hash": 2})
        self.assertEqual(outcome.hash, 2)

    def test_a_failed_program_has_error_output_but_no_hash(self):
        outcome = self.harness.alone(script("a", "print('{\"hash\": 1}'); raise SystemExit('no')"))
        self.assertEqual(outcome.status, 1)
        self.assertIsNone(outcome.hash)
        self.assertIn("no", outcome.error_output)

    def test_kills_a_program_and_its_children_at_the_limit(self):
        text = ("import subprocess, time; child = subprocess.Popen(['sleep', '600']);"
                "print(child.pid, flush=True); time.sleep(600)")
        process = self.harness.start(script("a", text))
        path = process._paths[0]
        while not os.path.getsize(path):
            time.sleep(0.01)
        with open(path, encoding="utf-8") as out:
            child = int(out.read())
        outcome = self.harness.wait([process], 0.1)[0]
        self.assertIsNone(outcome.status)
        for _ in range(1000):
            if not alive(child):
                break
            time.sleep(0.01)
        self.assertFalse(alive(child))

    def test_reports_the_signal_that_killed_a_program(self):
        outcome = self.harness.alone(script("a", "import os; os.kill(os.getpid(), 9)"))
        self.assertEqual(outcome.status, -signal.SIGKILL)

    def test_runs_jobs_concurrently(self):
        # Each waits for a file that the other creates.
        text = ("import os, time; open('{0}/{1}', 'w').close()\n"
                "while not os.path.exists('{0}/{2}'): time.sleep(0.01)")
        outcomes = self.harness.together([script("a", text.format(self._folder.name, "x", "y")),
                                          script("b", text.format(self._folder.name, "y", "x"))])
        self.assertEqual([o.status for o in outcomes], [0, 0])

    def test_an_expired_deadline_kills_programs(self):
        self.harness.deadline = time.time()
        outcome = self.harness.alone(script("a", "import time; time.sleep(600)"))
        self.assertIsNone(outcome.status)

    def test_a_missing_command_has_no_status(self):
        self.assertIsNone(self.harness.command(["/no/such/program"])[0])

    def test_wraps_a_job_and_keeps_its_environment(self):
        reveza = Reveza(self.harness, "24GiB", settings={"REVEZA_X": "1"})
        job = reveza.wrap(Job("a", ["program", "--x"], {"KEY": "value"}))
        self.assertEqual(job.argv[1:], ["run", "--gpu-budget", "24GiB", "--name", "a", "--",
                                        "program", "--x"])
        self.assertEqual(job.env, {"KEY": "value"})
        self.assertEqual(reveza.environment["REVEZA_X"], "1")

    def test_uses_the_sample_with_the_most_handovers(self):
        reveza = Reveza(self.harness, "24GiB")
        reveza.status = lambda: {"gpus": []}
        reveza.samples = [{"gpus": [{"handover": {"count": 5}}]}, {"gpus": [{"handover": {}}]}]
        self.assertEqual(reveza.handover(), {"count": 5})


class ReportTest(unittest.TestCase):
    def test_groups_programs_that_fit_together(self):
        jobs = [("a", 4), ("b", 4), ("c", 4), ("d", 20), ("e", 1)]
        self.assertEqual(list(sections.groups_that_fit(jobs, 9)), [["a", "b"], ["c"], ["d"], ["e"]])

    def test_spreads_neighbours_over_groups_of_three(self):
        self.assertEqual(sections.threes(list("abcdefg")),
                         [["a", "d", "g"], ["b", "e"], ["c", "f"]])

    def test_a_missing_value_fails_its_limit(self):
        report = sections.Report("x")
        report.at_most("a", None, 1)
        report.at_most("b", 2, 1)
        report.at_most("c", 1, 1)
        self.assertEqual([row[3] for row in report.rows], [False, False, True])

    def test_the_table_marks_failed_checks(self):
        report = sections.Report("x")
        report.at_most("a", 2, 1)
        report.note("b", 3)
        lines = bench.table([report])
        self.assertTrue(lines[1].endswith("NOT OK"))
        self.assertTrue(lines[2].endswith("3"))

    def test_combine_depends_on_order(self):
        forward = workload.combine(workload.combine(0, 1), 2)
        self.assertNotEqual(forward, workload.combine(workload.combine(0, 2), 1))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
