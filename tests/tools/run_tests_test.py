"""tools/run_tests.sh with tests that pass, fail, are skipped and are missing."""

import subprocess
import unittest

from tree import ROOT, TreeTest


class RunTests(TreeTest):
    def run_tests(self, *tests: str, arguments=()) -> tuple[int, list[str]]:
        """Each test is a shell command; 77 means that it was skipped."""
        lines = []
        for number, command in enumerate(tests):
            lines.append(f'add_test(case{number} "/bin/sh" "-c" "{command}")')
            lines.append(f"set_tests_properties(case{number} PROPERTIES SKIP_RETURN_CODE 77)")
        self.write("CTestTestfile.cmake", "\n".join(lines) + "\n")
        done = subprocess.run(
            [str(ROOT / "tools/run_tests.sh"), str(self.tree), "2", *arguments],
            capture_output=True, text=True, check=False)
        return done.returncode, (done.stderr + done.stdout).splitlines()

    def test_all_pass(self):
        self.assertEqual(self.run_tests("true", "true"), (0, ["2 passed, 0 failed"]))

    def test_failure_prints_the_test_and_its_output(self):
        status, lines = self.run_tests("true", "echo quiet one", "echo what went wrong; exit 3")
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "2 passed, 1 failed")
        self.assertIn("what went wrong", lines)
        self.assertNotIn("quiet one", lines)
        self.assertTrue(any("case2" in line for line in lines), lines)
        self.assertFalse(any("case0" in line for line in lines), lines)

    def test_skipped_tests_do_not_count_as_passed(self):
        status, lines = self.run_tests("true", "exit 77")
        self.assertEqual((status, lines[-2:]), (0, ["1 skipped", "1 passed, 0 failed"]))

    def test_missing_program_is_a_failure(self):
        self.write("CTestTestfile.cmake", 'add_test(gone "no-such-program")\n')
        done = subprocess.run([str(ROOT / "tools/run_tests.sh"), str(self.tree), "1"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))

    def test_no_tests_is_an_error(self):
        status, lines = self.run_tests()
        self.assertEqual(status, 1)
        self.assertIn("no tests found", lines)

    def test_only_skipped_tests_is_an_error(self):
        status, lines = self.run_tests("exit 77")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 0 failed"))

    def test_passes_arguments_to_ctest(self):
        status, lines = self.run_tests("true", "false", arguments=("-R", "case0"))
        self.assertEqual((status, lines), (0, ["1 passed, 0 failed"]))


if __name__ == "__main__":
    unittest.main()
