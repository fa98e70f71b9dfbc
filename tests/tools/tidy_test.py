"""tools/tidy.py on a synthetic project of two files."""

import json
import shutil
import subprocess
import sys
import unittest

from tree import ROOT, TreeTest

GOOD = '#include "good.h"\nint Good() { return kGood; }\n'
BAD = "struct Base { virtual ~Base(); virtual int F(); };\nstruct Bad : Base { virtual int F(); };\n"


@unittest.skipUnless(shutil.which("clang-tidy-19"), "clang-tidy-19 is not installed")
class Tidy(TreeTest):
    def setUp(self):
        super().setUp()
        self.write(".clang-tidy", (ROOT / ".clang-tidy").read_text())
        self.write("tools/tidy.py", (ROOT / "tools/tidy.py").read_text())
        self.write("src/good.h", "#pragma once\ninline constexpr int kGood = 1;\n")
        self.write("build/compile_commands.json", "[]")

    def compile_commands(self, **files: str):
        entries = []
        for name, text in files.items():
            source = self.write(f"src/{name}.cc", text)
            entries.append({"directory": str(self.tree / "build"), "file": str(source),
                            "command": f"ccache g++ --param=x=1 -std=c++23 -o {name}.o -c {source}"})
        # Compiled twice, looked at once.
        self.write("build/compile_commands.json", json.dumps(entries + entries))

    def tidy(self, *more: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-B", str(self.tree / "tools/tidy.py"), str(self.tree / "build"), "1",
             *more],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_reports_findings_with_their_file(self):
        self.compile_commands(good=GOOD, bad=BAD)
        status, output = self.tidy()
        self.assertEqual(status, 1)
        self.assertIn("src/bad.cc", output)
        self.assertIn("modernize-use-override", output)
        self.assertNotIn("src/good.cc", output)

    def test_quick_skips_tests_and_files_that_passed_all_checks(self):
        self.compile_commands(good=GOOD, bad_test=BAD)
        self.assertEqual(self.tidy("--quick"), (0, "clang-tidy: 1 files are clean (1 checked)\n"))
        status, output = self.tidy()
        self.assertEqual(status, 1)
        self.assertIn("src/bad_test.cc", output)
        (self.tree / "src/good.h").write_text("#pragma once\ninline constexpr int kGood = 3;\n")
        self.tidy()
        self.assertEqual(self.tidy("--quick"), (0, "clang-tidy: 1 files are clean (0 checked)\n"))

    def test_caches_results_until_a_header_changes(self):
        self.compile_commands(good=GOOD)
        self.assertEqual(self.tidy(), (0, "clang-tidy: 1 files are clean (1 checked)\n"))
        self.assertEqual(self.tidy(), (0, "clang-tidy: 1 files are clean (0 checked)\n"))
        self.write("src/good.h", "#pragma once\ninline constexpr int kGood = 2;\n")
        self.assertEqual(self.tidy(), (0, "clang-tidy: 1 files are clean (1 checked)\n"))

    def test_starts_no_file_after_the_time_limit(self):
        self.compile_commands(bad=BAD)
        self.assertEqual(
            self.tidy("--for", "-1"),
            (0, "clang-tidy: 0 files are clean (0 checked, 1 skipped after the time limit)\n"))
        self.assertEqual(self.tidy("--for", "600")[0], 1)

    def test_checks_recently_changed_files_first(self):
        git = ["git", "-C", str(self.tree), "-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "--quiet"], check=True)
        for number, name in enumerate(("first", "second", "first")):
            self.write(f"src/{name}.cc", f"// {number}\n")
            subprocess.run([*git, "add", f"src/{name}.cc"], check=True)
            subprocess.run([*git, "commit", "--quiet", "-m", name], check=True)
        code = "import tidy; print(*(file.name for file in tidy.changed_last()))"
        listed = subprocess.run([sys.executable, "-B", "-c", code], check=True, text=True,
                                capture_output=True, cwd=self.tree / "tools").stdout
        self.assertEqual(listed, "first.cc second.cc\n")


if __name__ == "__main__":
    unittest.main()
