"""Runs the examples: those of docstrings as doctests, and those of pages in docs/ as scripts.

  examples_test.py BUILD

A program `train` uses a card of fakecuda meanwhile. Each public name has an example. On a page,
`<!-- not run: REASON -->` before an example excludes it, which GitHub does not show.
"""

import doctest
import importlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = BUILD / "lib/python"
sys.path[:0] = [str(PACKAGES), str(ROOT / "python"), str(ROOT / "reveza/cli/reveza_web")]

from testing_world import World  # pylint: disable=wrong-import-position

EXAMPLE = re.compile(r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
ONE_LINER = re.compile(r"^\| [^|]+ \| `([^`]*fraudgen\.[^`]*1000[^`]*)` \|$", re.MULTILINE)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def make_data(folder: pathlib.Path) -> None:
    """Makes a data set and a copy with another amount, of which docstrings of fraudgen speak."""
    command = [BUILD / "bin/fraudgen", "--rows", "1000", "--format", "csv", "--output", folder / "data", "--quiet"]
    subprocess.run(command, check=True)
    shutil.copytree(folder / "data", folder / "changed")
    file = folder / "changed/transactions/part-00000.csv"
    header, *rows = file.read_text("utf-8").splitlines(keepends=True)
    values = rows[2].split(",")
    values[header.split(",").index("amount")] = "0.01"
    file.write_text("".join([header, *rows[:2], ",".join(values), *rows[3:]]), "utf-8")


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        world = cls.enterClassContext(World(BUILD))
        world.environment |= {"PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}",
                              "PYTHONPATH": f"{PACKAGES}:{ROOT / 'python'}"}
        os.environ.update(world.environment)
        world.start_daemon()
        world.run("run", "--quiet", "--", world.program("reveza-demo-worker"), "--bytes", "1048576", "--steps", "1")
        world.start_worker("train", 16)
        reveza = importlib.import_module("reveza")
        for _ in range(600):
            try:
                if reveza.status().programs:
                    break
            except reveza.Error:
                pass  # the daemon does not listen yet
            time.sleep(0.1)
        make_data(world.folder)
        os.chdir(world.folder)
        cls.addClassCleanup(os.chdir, ROOT)

    def run_doctest(self, test: doctest.DocTest, runner: doctest.DocTestRunner, keep: bool = False) -> None:
        with self.subTest(test.name):
            said = []
            runner.run(test, out=said.append, clear_globs=not keep)
            self.assertEqual("".join(said), "")

    def test_docstrings(self):
        for name in ("reveza", "fraudgen", "phi"):
            package = importlib.import_module(name)
            finder, runner = doctest.DocTestFinder(exclude_empty=False), doctest.DocTestRunner(optionflags=OPTIONS)
            first = doctest.DocTestParser().get_doctest(package.__doc__, {}, name, package.__file__, 0)
            self.run_doctest(first, runner, keep=True)
            for public in package.__all__:
                value = getattr(package, public)
                if not value.__module__.startswith(name):
                    continue  # an alias of a type
                for test in finder.find(value, f"{name}.{public}", False, first.globs):
                    if test.docstring and not re.search(r"\._", test.name):
                        self.assertTrue(test.examples, f"{test.name} has no example")
                        self.run_doctest(test, runner)

    def test_pages(self):
        scripts = skipped = 0
        for page in sorted((ROOT / "docs").rglob("*.md")):
            for found in EXAMPLE.finditer(page.read_text("utf-8")):
                if found["reason"]:
                    skipped += 1
                    continue
                scripts += 1
                with self.subTest(f"{page.name}: {found['code']}"):
                    script = pathlib.Path("example.py")
                    script.write_text(found["code"], "utf-8")
                    done = subprocess.run([sys.executable, "-B", script], capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((scripts, skipped), (8, 7))

    def test_one_liners(self):
        modules = {name: importlib.import_module(name) for name in ("polars", "duckdb", "fraudgen")}
        found = ONE_LINER.findall((ROOT / "docs/python.md").read_text("utf-8"))
        self.assertEqual(len(found), 4)
        for line in found:
            with self.subTest(line):
                exec(line, dict(modules))  # pylint: disable=exec-used


if __name__ == "__main__":
    if not all(map(importlib.util.find_spec, ("numpy", "pandas", "polars", "pyarrow", "duckdb"))):
        sys.exit(77)
    unittest.main()
