"""Runs the examples of docs/python.md as they stand.

  examples_test.py BUILD
"""

import contextlib
import importlib.util
import io
import pathlib
import re
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/python.md"
sys.path.insert(0, str(BUILD / "lib/python"))


class Examples(unittest.TestCase):
    def test_each_runs_and_prints(self):
        examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(examples), 3)
        for example in examples:
            with self.subTest(example), contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(example, str(PAGE), "exec"), {})  # pylint: disable=exec-used
                self.assertTrue(printed.getvalue())

    def test_one_liners_run(self):
        polars = importlib.import_module("polars")
        duckdb = importlib.import_module("duckdb")
        fraudgen = importlib.import_module("fraudgen")
        found = re.findall(r"^\| [^|]+ \| `([^`]*fraudgen\.[^`]*1000[^`]*)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
        self.assertEqual(len(found), 4)
        for line in found:
            with self.subTest(line):
                exec(line, {"polars": polars, "duckdb": duckdb, "fraudgen": fraudgen})  # pylint: disable=exec-used


if __name__ == "__main__":
    if not all(map(importlib.util.find_spec, ("numpy", "pandas", "polars", "pyarrow", "duckdb"))):
        sys.exit(77)
    unittest.main()
