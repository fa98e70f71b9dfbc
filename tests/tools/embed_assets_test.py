"""tools/embed_assets.py on good and bad folders."""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).parents[2] / "tools"
LIBRARY = "export default 1;\n"


class EmbedAssets(unittest.TestCase):
    def run_on(self, files: dict[str, str], library: str = LIBRARY) -> tuple[int, str, str]:
        """Returns the exit status, the output and stderr."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for tool in ("embed_assets.py", "embed.py"):
                shutil.copy(TOOLS / tool, root / tool)
            digest = hashlib.sha256(LIBRARY.encode()).hexdigest()
            (root / "requirements-page.txt").write_text(f"# comment\nlib 1.2 dist/lib.js {digest}\n")
            package, page, output = root / "charts/lib-1.2", root / "page", root / "out/assets.inc"
            package.mkdir(parents=True)
            (package / "lib.js").write_text(library)
            (package / "LICENSE").write_text("Free.\n")
            page.mkdir()
            for file, text in files.items():
                (page / file).write_text(text, "utf-8")
            run = subprocess.run([sys.executable, "-B", root / "embed_assets.py", page, root / "charts", output],
                                 check=False, capture_output=True, text=True)
            return run.returncode, output.read_text("utf-8") if output.exists() else "", run.stderr

    def test_the_index_is_the_root_and_libraries_have_their_licence(self):
        status, written, errors = self.run_on({"index.html": "<p>é", "a.css": "", "README.md": "no"})
        self.assertEqual((status, errors), (0, ""))
        self.assertIn('{"/", "text/html; charset=utf-8",\nR"asset(<p>é)asset"},', written)
        self.assertIn('{"/a.css", "text/css; charset=utf-8",\nR"asset()asset"},', written)
        self.assertIn('R"asset(/*! lib 1.2\n\nFree.\n*/\nexport default 1;\n)asset"', written)
        self.assertNotIn("README", written)

    def test_long_files_are_several_strings(self):
        _, written, _ = self.run_on({"index.html": "x" * 130_000})
        self.assertEqual(written.count('R"asset(xxx'), 3)
        self.assertEqual(written.count("x" * 1000), 130)

    def test_rejects_delimiters_wrong_checksums_and_folders_without_a_page(self):
        for files, library, error in (({"index.html": 'x )asset" y'}, LIBRARY, "index.html"),
                                      ({"index.html": ""}, "other", "wrong checksum"),
                                      ({"a.css": ""}, LIBRARY, "no index.html")):
            status, written, errors = self.run_on(files, library)
            self.assertEqual((status, written), (1, ""))
            self.assertIn(error, errors)


if __name__ == "__main__":
    unittest.main()
