"""Runs sections of bench/gpu.sh on fakecuda at a small size. Asserts on what a run shows and on counts,
not on times.

  bench/gpu/fake_test.py BUILD [unittest arguments]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""


class FakeTest(unittest.TestCase):
    def run_section(self, section, *arguments, scale=0.1):
        """Returns the rows of a section, {what: value}, after checks that hold for every section."""
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(
                [os.path.join(ROOT, "bench", "gpu.sh"), section, "--fake", "--scale", str(scale),
                 *arguments],
                capture_output=True, text=True, timeout=300, check=False,
                env={**os.environ, "REVEZA_BUILD": BUILD, "OUT": out})
            log = next(name for name in os.listdir(out) if name.endswith(".log"))
            with open(os.path.join(out, log), encoding="utf-8") as text:
                lines = [line.split("] ", 1)[-1] for line in text.read().splitlines()]
            with open(os.path.join(out, "results.json"), encoding="utf-8") as results:
                self.data = json.load(results)
        self.check_header(lines)
        rows = self.data["sections"][section]["rows"]
        failed = [row for row in rows if row[3] is False]
        self.assertEqual(failed, [], done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0)
        return {row[0]: row[1] for row in rows}

    def check_header(self, lines):
        self.assertRegex(lines[0], "^command: bench/gpu.sh .*--scale .*--rounds ")
        self.assertRegex(lines[1], "^device: fakecuda")
        self.assertRegex(lines[2], "^reveza and revezad: commit (unknown|[0-9a-f]{12})"
                         "(, with uncommitted changes)?; build: preset ")
        self.assertRegex(lines[3], "^begun: ")
        self.assertRegex(lines[4], r"^frameworks: (none|[\w-]+ [\d.]+)")

    def check_same_results(self, rows, *counts):
        """Checks that as many programs as given were compared, in each row and run."""
        texts = [value for what, value in rows.items() if what.endswith("same results as natively")]
        self.assertEqual(texts, list(counts))

    def test_correctness(self):
        rows = self.run_section("correctness", scale=0.5)
        self.check_same_results(rows, "3 of 3", "3 of 3", "3 of 3")

    def test_random(self):
        rows = self.run_section("random")
        self.assertGreater(rows["random programs: times memory left"], 0)

    def test_overhead(self):
        rows = self.run_section("overhead")
        self.check_same_results(rows, "6 of 6")
        self.assertEqual(len(rows["worker step, natively (ms)"].split(", ")), 3)
        for way in ("natively", "under Reveza"):
            for what in ("added", "driver's function to itself"):
                self.assertRegex(rows[f"launch, {way}: {what} (ns)"],
                                 r"^-?[\d.]+ \(-?[\d.]+ to -?[\d.]+\)$")

    def test_larger(self):
        rows = self.run_section("larger", scale=0.5)
        self.check_same_results(rows, *["1 of 1"] * 5, "2 of 2")
        for what in ("1.3 cards, 50 % changes", "2.0 cards, 100 % changes"):
            self.assertRegex(rows[f"{what}: step (ms), first and last tenth"], r"^[\d.]+, [\d.]+$")

    def test_handover(self):
        rows = self.run_section("handover", scale=0.5)
        self.check_same_results(rows, "2 of 2", "2 of 2", "2 of 2")
        (state,) = re.findall(r"^(\d+), ", rows["bytes of a program: moved, kept"])
        self.assertIn(f"plain loops, {state} bytes each way: tail (ms)", rows)
        runs = self.data["sections"]["handover"]["data"]["exact"]
        for note, exact in zip(("all copied", "all changed"), runs, strict=True):
            self.assertEqual(rows[f"{note}: handovers that moved {state} bytes each way"],
                             len(exact))
            self.assertEqual({(one["bytes_out"], one["bytes_in"]) for one in exact},
                             {(int(state), int(state))})
            for what in ("drain", "out", "in", "tail", "gate closed to gate opened"):
                self.assertNotEqual(rows[f"{note}: {what} (ms)"], "none")
        for what in ("drain", "in", "gate closed to gate opened"):
            self.assertNotEqual(rows[f"unchanged: {what} (ms)"], "none")

    def test_oversubscribe(self):
        rows = self.run_section("oversubscribe", "--rounds", "2", "--only", "2 programs")
        self.check_same_results(rows, "2 of 2, 2 of 2")
        for part in ("wall", "start-up", "loops"):
            self.assertEqual(len(rows[f"2 programs of 100: {part}, together / in turn"].split(", ")),
                             2)
        runs = self.data["sections"]["oversubscribe"]["data"]["2 programs of 100"]
        self.assertTrue(all(run["handovers"] for run in runs))

    def test_programs_that_fit(self):
        rows = self.run_section("oversubscribe", "--only", "3 that fit")
        self.check_same_results(rows, "3 of 3")
        self.assertEqual(rows["3 that fit: handovers"], 0)
        self.assertIn("3 that fit: wall, to native", rows)

    def test_compare(self):
        rows = self.run_section("compare", "--only", "half idle x 4")
        self.check_same_results(rows, "4 of 4")
        self.assertIn("half idle x 4, Reveza: wall, to native", rows)
        self.assertIn("half idle x 4, Reveza: start-up, to native", rows)

    def test_seed_case(self):
        rows = self.run_section("seed_case")
        self.check_same_results(rows, "4 of 4")
        self.assertIn("4 programs of 12: wall, together / in turn", rows)
        self.assertIn("4 programs of 12: longest handover", rows)

    def test_faults(self):
        rows = self.run_section("faults", scale=0.5)
        self.check_same_results(rows, "2 of 2", "3 of 3")

    def test_multi_gpu(self):
        rows = self.run_section("multi_gpu", scale=0.5)
        self.check_same_results(rows, "2 of 2", "2 of 2", "2 of 2", "3 of 3", "2 of 2",
                                "2 of 2")

    def test_policy(self):
        rows = self.run_section("policy", "--only", "pause")
        self.assertEqual(sum("came back" in what for what in rows), 2)
        rows = self.run_section("policy", "--only", "limit")
        self.check_same_results(rows, "1 of 1")

    def test_long(self):
        rows = self.run_section("long")
        self.assertEqual(rows["eight programs: that ended"], "none")
        for what in ("memory of the daemon (MiB)", "descriptors of the programs"):
            self.assertEqual(
                len(rows[f"eight programs: {what}, the most of each quarter"].split(", ")), 4)
        self.assertIn("eight programs: CPU time of the agents of all (% of a core)", rows)

    def test_idle(self):
        rows = self.run_section("idle", "--only", "8 idle")
        self.check_same_results(rows, "1 of 1", "1 of 1")
        self.assertNotEqual(rows["8 idle programs, contexts leave: contexts in (ms)"], "none")

    def test_checkpoint(self):
        rows = self.run_section("idle", "--only", "checkpoint")
        for what in ("checkpoint alone, up (ms)", "resume with the context, until it computed (ms)"):
            self.assertEqual(len(rows[what].split(", ")), 3)


if __name__ == "__main__":
    unittest.main()
