"""A synthetic checkout for the tests of tools/, and a way to run a tool on it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)

    def write(self, name: str, text: str = "") -> pathlib.Path:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def run_tool(self, tool: str) -> tuple[int, list[str]]:
        """Exit status, and the lines that it printed."""
        done = subprocess.run([sys.executable, "-B", str(ROOT / "tools" / tool), str(self.tree)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def assert_clean(self, tool: str):
        status, lines = self.run_tool(tool)
        self.assertEqual((status, len(lines)), (0, 1), lines)

    def assert_found(self, tool: str, *wanted: str):
        """The tool fails, with one line for each of the texts wanted, in this order."""
        status, lines = self.run_tool(tool)
        self.assertEqual((status, len(lines)), (1, len(wanted)), lines)
        for line, text in zip(lines, wanted):
            self.assertIn(text, line)
