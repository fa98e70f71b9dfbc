"""tools/embed_pages.py on good and bad folders."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "embed_pages.py"


class EmbedPages(unittest.TestCase):
    def run_on(self, pages: dict[str, str]) -> tuple[int, str, str]:
        """Returns the exit status, the output and stderr."""
        with tempfile.TemporaryDirectory() as name:
            folder, output = pathlib.Path(name, "pages"), pathlib.Path(name, "a", "pages.inc")
            folder.mkdir()
            for page, text in pages.items():
                (folder / page).write_text(text, "utf-8")
            run = subprocess.run([sys.executable, "-B", TOOL, folder, output], check=False,
                                 capture_output=True, text=True)
            return run.returncode, output.read_text("utf-8") if output.exists() else "", run.stderr

    def test_sorts_pages_by_name_and_skips_the_index(self):
        self.assertEqual(
            self.run_on({"b.md": "# B\n", "a.md": 'é "x"\n', "README.md": "all", "c.txt": "no"}),
            (0, '{"a", R"page(é "x"\n)page"},\n{"b", R"page(# B\n)page"},\n', ""))

    def test_names_become_enumerators(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for page in ("gpu-mig.md", "swap.md", "README.md"):
                (folder / page).write_text("# X\n", "utf-8")
            subprocess.run([sys.executable, "-B", TOOL, folder, folder / "pages.inc"], check=True)
            self.assertEqual((folder / "ids.inc").read_text("utf-8"), "kGpuMig,\nkSwap,\n")

    def test_rejects_raw_string_delimiters_and_empty_folders(self):
        status, written, errors = self.run_on({"a.md": 'x )page" y'})
        self.assertEqual((status, written), (1, ""))
        self.assertIn("a.md", errors)
        status, written, errors = self.run_on({"README.md": "all"})
        self.assertEqual((status, written), (1, ""))
        self.assertIn("contains no pages", errors)


if __name__ == "__main__":
    unittest.main()
