"""The Python package is typed: mypy --strict accepts it, and finds wrong uses of it."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
WRONG = """
import reveza
reveza.step("57")
reveza.set("train", weight="2")
print(reveza.status().programs[0].no_such_field)
"""


class Types(unittest.TestCase):
    def check(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, *arguments],
                cwd=PACKAGE, capture_output=True, text=True, check=False)

    def test_package_is_typed(self):
        done = self.check("reveza")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_wrong_uses_are_found(self):
        done = self.check("-c", WRONG)
        self.assertEqual(done.stdout.count("error:"), 3, done.stdout + done.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("mypy") is None:
        sys.exit(77)
    unittest.main()
