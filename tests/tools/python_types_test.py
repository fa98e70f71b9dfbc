"""The Python packages are typed: mypy --strict accepts them, and finds wrong uses of them."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "python"
WRONG = """
import reveza
reveza.step("57")
reveza.set("train", weight="2")
print(reveza.status().programs[0].no_such_field)
"""
WRONG_PHI = """
import numpy
import phi
phi.measure([[1.0, 2.0]])
phi.measure(numpy.zeros((9, 2)), lag="2")
phi.measure(numpy.zeros((9, 2)))["si"].no_such_field
"""
WRONG_FRAUDGEN = """
import fraudgen
fraudgen.generate(rows=10, colums=["amount"])
fraudgen.check("data").findings.no_such_field
fraudgen.schema(seed="one")
"""


class Types(unittest.TestCase):
    def check(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            settings = pathlib.Path(folder) / "mypy.ini"
            settings.write_text("[mypy]\n[mypy-polars.*]\nfollow_imports = skip\n", "utf-8")  # it takes minutes
            return subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--config-file", settings, "--cache-dir", folder, *arguments],
                cwd=PACKAGES, capture_output=True, text=True, check=False)

    def test_packages_are_typed(self):
        for package in ("reveza", "snakemake_executor_plugin_reveza", "phi", "fraudgen"):
            done = self.check(package)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_wrong_uses_are_found(self):
        for wrong in (WRONG, WRONG_PHI, WRONG_FRAUDGEN):
            done = self.check("-c", wrong)
            self.assertEqual(done.stdout.count("error:"), 3, done.stdout + done.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("mypy") is None:
        sys.exit(77)
    unittest.main()
