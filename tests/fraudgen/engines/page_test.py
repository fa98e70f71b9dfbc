"""Runs the examples of docs/fraud-engines.md, with fewer rows.

  page_test.py BUILD
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

for needed in ("pyspark", "ray"):
    if importlib.util.find_spec(needed) is None:
        print(f"needs {needed} in this environment: tools/setup.sh engines")
        sys.exit(77)

import testing_engines  # noqa: F401  # pylint: disable=wrong-import-position,unused-import

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/fraud-engines.md"
SETTINGS = {"PYSPARK_SUBMIT_ARGS": "--master local[2] --driver-memory 800m --conf spark.ui.enabled=false pyspark-shell",
            "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "RAY_USAGE_STATS_ENABLED": "0"}


class Page(unittest.TestCase):
    def test_each_example_runs_and_prints(self):
        examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(examples), 3)
        for example in examples:
            with self.subTest(example), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, "-c", example.replace("1_000_000", "10_000")], cwd=folder,
                                      env={**os.environ, **SETTINGS}, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr[-3000:])
                self.assertTrue(done.stdout.strip())


if __name__ == "__main__":
    unittest.main()
