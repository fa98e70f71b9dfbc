"""Tests of the figures of runs, and of the driver's aligned starts."""

import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import figures  # noqa: E402
import sections  # noqa: E402
from harness import Harness, Job, Outcome  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def outcome(name, begin, ready, loop_begin, loop_end, end, status=0):
    result = {"ready": ready, "loop_begin": loop_begin, "loop_end": loop_end, "hash": name}
    return Outcome(name, status, begin, end, result, "")


def event(name, job, begin, end, count=0):
    one = {"ph": "X", "name": name, "pid": job, "tid": job, "ts": begin * 1e3,
           "dur": (end - begin) * 1e3}
    return {**one, "args": {"gpu": 0, "bytes": count}} if count else one


class SpansTest(unittest.TestCase):
    def test_together_is_from_the_first_begin_to_the_last_end(self):
        spans = figures.spans_together([outcome("a", 0, 4, 6, 10, 11),
                                        outcome("b", 1, 6, 6, 12, 14)])
        self.assertEqual((spans.start_up, spans.loops, spans.wall), (6, 6, 14))

    def test_in_turn_is_the_sum_of_the_runs(self):
        spans = figures.spans_in_turn([outcome("a", 0, 4, 4, 10, 11),
                                       outcome("b", 20, 25, 25, 30, 32)])
        self.assertEqual((spans.start_up, spans.loops, spans.wall), (9, 11, 23))

    def test_names_programs_that_failed(self):
        self.assertEqual(figures.failures([outcome("a", 0, 1, 1, 2, 3),
                                           outcome("b", 0, 1, 1, 2, 3, status=1)]), "b: status 1")


class HandoversTest(unittest.TestCase):
    def test_splits_a_handover_into_its_parts(self):
        trace = {"traceEvents": [
            event("slice", 1, 0, 100),
            event("wait for its turn", 2, 50, 400),
            event("drain", 1, 100, 130),
            event("copy out", 1, 130, 250, 1000),
            event("copy in", 2, 150, 398, 900),
            event("copy out", 1, 250, 370, 500),
            event("slice", 2, 400, 900),
        ]}
        (one,) = figures.handovers(trace)
        self.assertEqual((one.total, one.drain, one.out, one.bring_in, one.tail),
                         (300, 30, 240, 248, 30))
        self.assertEqual((one.bytes_out, one.bytes_in), (1500, 900))
        self.assertEqual(one.waits["nobody asked"], 0)

    def test_shows_what_a_handover_waited_for(self):
        trace = {"traceEvents": [
            event("slice", 1, 0, 100),
            event("wait for a context", 2, 90, 150),
            event("wait for memory", 2, 160, 200, 7),
            event("wait for memory", 2, 190, 260, 7),
            event("wait for its turn", 2, 280, 300),
            event("slice", 2, 300, 400),
        ]}
        (one,) = figures.handovers(trace)
        self.assertEqual(one.waits, {"memory": 100, "context": 50, "nobody asked": 180})
        self.assertEqual((one.drain, one.out, one.bytes_out), (0, 0, 0))
        self.assertIn("nobody asked 180", one.text())

    def test_the_same_job_again_or_a_gate_that_is_open_is_no_handover(self):
        self.assertEqual(figures.handovers({"traceEvents": [
            event("slice", 1, 0, 100), event("slice", 1, 120, 200),
            event("slice", 2, 190, 300), event("slice", 3, 310, 400)]}),
            figures.handovers({"traceEvents": [
                event("slice", 2, 190, 300), event("slice", 3, 310, 400)]}))

    def test_an_empty_trace_has_none(self):
        self.assertEqual(figures.handovers({}), [])


class ReportTest(unittest.TestCase):
    def test_a_row_shows_every_run_and_all_must_be_within_the_limit(self):
        report = sections.Report("x")
        report.every("ratio", 0.9, 1)
        report.note("other", 1)
        report.every("ratio", 1.2, 1)
        report.every("ratio", 0.8, 1)
        self.assertEqual(report.rows[0], ("ratio", "0.9, 1.2, 0.8", "<= 1", False))
        self.assertEqual(len(report.rows), 2)

    def test_a_run_that_failed_is_named_in_its_row(self):
        report = sections.Report("x")
        report.every("ratio", 0.9, 1)
        report.every("ratio", "failed (b: status 1)", 1)
        self.assertEqual(report.rows, [("ratio", "0.9, failed (b: status 1)", "<= 1", False)])

    def test_a_program_is_compared_with_its_own_result(self):
        report = sections.Report("x")
        native = {"a": outcome("a", 0, 1, 1, 2, 3), "b": outcome("b", 0, 1, 1, 2, 3)}
        sections.check_results(report, "row", [native["a"], renamed(native["a"], "b")],
                               native)
        self.assertEqual(report.rows, [(
            "row: same results as natively", "1 of 2, not b (b / a, status 0)", "all", False)])

    def test_many_values_are_a_range(self):
        self.assertEqual(figures.spread([3, 1, 2]), "3, 1, 2")
        self.assertEqual(figures.spread([]), "none")
        self.assertEqual(figures.spread(range(10)), "0 to 9, median 5 of 10")


def renamed(one, name):
    return Outcome(name, one.status, one.begin, one.end, one.result, one.error_output)


class AlignedTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.harness = Harness(self._folder.name, self._folder.name, True, time.time() + 300, 1.0)
        self.harness.log = lambda text: None

    def tearDown(self):
        self.harness.close()
        self._folder.cleanup()

    def job(self, name, before):
        text = (f"import sys, types; sys.path.insert(0, {HERE!r}); import workload\n{before}\n"
                f"workload.Loop().report(types.SimpleNamespace(name={name!r}, steps=1), 7)")
        return Job(name, [sys.executable, "-c", text])

    def test_loops_begin_when_the_last_program_is_ready(self):
        # The slow program is not ready before the other has said that it is.
        wait = ("import glob, os, time\n"
                "while not glob.glob(os.path.dirname(os.environ['BENCH_READY']) + '/*quick.ready'):"
                " time.sleep(0.01)")
        quick, slow = self.harness.aligned([self.job("quick", ""), self.job("slow", wait)])
        self.assertEqual([quick.status, slow.status], [0, 0])
        self.assertGreaterEqual(quick.result["loop_begin"], slow.result["ready"])
        self.assertLessEqual(quick.result["ready"], slow.result["ready"])

    def test_a_program_that_ends_before_does_not_hold_the_others(self):
        one, other = self.harness.aligned([self.job("one", ""), self.job("other", "sys.exit(3)")])
        self.assertEqual([one.status, other.status], [0, 3])

    def test_programs_run_in_turn_after_a_warm_up(self):
        path = os.path.join(self._folder.name, "runs")
        jobs = [self.job(name, f"open({path!r}, 'a').write({name!r})") for name in "ab"]
        outcomes = self.harness.in_turn(jobs)
        self.assertEqual(sorted(outcomes), ["a", "b"])
        self.assertLessEqual(outcomes["a"].end, outcomes["b"].begin)
        with open(path, encoding="utf-8") as runs:
            self.assertEqual(runs.read(), "aab")


if __name__ == "__main__":
    unittest.main()
