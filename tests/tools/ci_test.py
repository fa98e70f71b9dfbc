""".ci/run on a synthetic project whose parts have given results."""

import os
import shutil
import subprocess
import unittest

from tree import ROOT, TreeTest

# Prints and returns what the file named after its arguments says: "status" and then lines.
MAKE = """#!/bin/bash
answer=$(dirname "$0")/answers/$(tr ' ' '_' <<<"$*")
[[ -e $answer ]] || answer=$(dirname "$0")/answers/other
sed 1d "$answer"
exit "$(head -n 1 "$answer")"
"""


class Ci(TreeTest):
    def setUp(self):
        super().setUp()
        (self.tree / ".ci").mkdir()
        shutil.copy(ROOT / ".ci/run", self.tree / ".ci/run")
        self.write("tools/setup.sh", "#!/bin/sh\n").chmod(0o755)
        self.write("tools/check_headers.sh", "#!/bin/sh\necho '1 passed, 0 failed'\n").chmod(0o755)
        self.write("bin/make", MAKE).chmod(0o755)
        self.answer("other", 0, "3 passed, 0 failed")

    def answer(self, arguments: str, status: int, *lines: str):
        self.write(f"bin/answers/{arguments.replace(' ', '_')}", "\n".join([str(status), *lines, ""]))

    def run_ci(self, elapsed: int = 0) -> tuple[int, list[str]]:
        done = subprocess.run(["bash", str(self.tree / ".ci/run")], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.tree}/bin:/usr/bin:/bin",
                                   "SECONDS": str(elapsed)}, check=False)
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        sums = [line for line in lines if line.endswith(" failed")]
        self.assertEqual(sums, lines[-1:], "only the last line is a sum")
        return done.returncode, lines

    def test_adds_up_results_of_all_parts(self):
        self.answer("fuzz ARGS=30", 0, "3 passed, 0 failed")
        self.answer("check PRESET=ci ARGS=300", 0, "layers: fine", "6 passed, 0 failed")
        status, lines = self.run_ci()
        self.assertEqual((status, lines[-1]), (0, "22 passed, 0 failed"))
        self.assertIn("layers: fine", lines)

    def test_leaves_parts_out_when_late_and_says_so(self):
        self.answer("check PRESET=ci ARGS=60", 0, "6 passed, 0 failed")
        status, lines = self.run_ci(elapsed=9000)
        self.assertEqual((status, lines[-1]), (0, "10 passed, 0 failed"))
        for part in ("address and undefined behaviour", "threads", "fuzz",
                     "address and undefined behaviour, fraudgen and phi"):
            self.assertIn(f"--- {part}: not run, 150 minutes are gone", lines)

    def test_shortens_fuzzing_when_late(self):
        self.answer("fuzz ARGS=24", 0, "8 passed, 0 failed")
        status, lines = self.run_ci(elapsed=68 * 60 - 10)
        self.assertEqual((status, lines[-1]), (0, "15 passed, 0 failed"))

    def test_continues_after_a_failure(self):
        self.answer("test PRESET=ci", 2, "case went wrong", "2 passed, 1 failed")
        status, lines = self.run_ci()
        self.assertEqual((status, lines[-1]), (1, "18 passed, 1 failed"))
        self.assertIn("case went wrong", lines)

    def test_failed_build_of_a_part_is_a_failure(self):
        self.answer("test PRESET=asan TARGETS=engine_unit_tests EXCLUDE=slow|processes|workload "
                    "ARGS=-L unit -E Simulation.DoesNotDependOnThreads", 2, "error: expected ';'")
        status, lines = self.run_ci()
        self.assertEqual((status, lines[-1]), (1, "16 passed, 1 failed"))

    def test_failed_setup_is_a_failure(self):
        self.write("tools/setup.sh", "#!/bin/sh\nexit 1\n")
        status, lines = self.run_ci()
        self.assertEqual((status, lines[-1]), (1, "19 passed, 1 failed"))

    def test_reports_the_duration_of_each_part(self):
        _, lines = self.run_ci()
        for part in ("packages", "release", "oldest CUDA headers", "address and undefined behaviour",
                     "threads", "fuzz", "check"):
            self.assertTrue(any(line.startswith(f"--- {part}: ") and " min " in line
                                for line in lines), part)


if __name__ == "__main__":
    unittest.main()
