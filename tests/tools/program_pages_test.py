"""The pages of docs/programs have one format, are in the index, and claim only what a log shows."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/programs"
HEADINGS = ["Type", "Settings", "What moves, what stays", "Tried"]
NAMED = {"pytorch", "jax", "cupy", "tensorflow", "vllm", "llama-cpp", "ollama", "comfyui", "jupyter", "rapids", "numba",
         "triton", "openmpi"}


class Pages(unittest.TestCase):
    def setUp(self):
        self.pages = {path.stem: path.read_text() for path in FOLDER.glob("*.md") if path.name != "README.md"}
        self.index = (FOLDER / "README.md").read_text()

    def test_each_program_has_a_page_that_the_index_lists(self):
        self.assertEqual(set(self.pages), NAMED)
        rows = [line for line in self.index.splitlines() if line.startswith("| [")]
        self.assertEqual(set(re.findall(r"\]\(([\w-]+)\.md\)", "\n".join(rows))), NAMED)

    def test_they_have_one_format(self):
        for name, text in self.pages.items():
            self.assertEqual(re.findall(r"^## (.*)$", text, re.MULTILINE), HEADINGS, name)
            self.assertRegex(text, r"## Type\n\n```sh\n.*reveza", name)

    def test_what_was_tried_has_a_log_and_the_index_agrees(self):
        (untried,) = re.findall(r"^\| (.*) \| not yet \|$", self.index, re.MULTILINE)
        for name, text in self.pages.items():
            tried = text.split("## Tried")[1]
            logs = re.findall(r"\]\(\.\./\.\./(bench/results/[^)]+)\)", tried)
            for log in logs:
                self.assertTrue((ROOT / log).is_file(), f"{name}: {log}")
            self.assertEqual(not logs, f"({name}.md)" in untried, name)
            self.assertTrue(re.search("[Nn]ot tested", tried) or logs, name)
            for row in re.findall(r"^\| (?!what |---)(.*) \|$", tried, re.MULTILINE):
                self.assertIn("bench/results/", row, name)

    def test_scripts_exist(self):
        for name, text in {**self.pages, "README": self.index}.items():
            for script in re.findall(r"(?:examples|bench)/[\w/]+\.py", text):
                self.assertTrue((ROOT / script).is_file(), f"{name}: {script}")


if __name__ == "__main__":
    unittest.main()
