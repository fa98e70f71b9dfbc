"""tools/embed_lists.py on good and bad lists."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "embed_lists.py"


class EmbedLists(unittest.TestCase):
    def run_on(self, text: str) -> tuple[int, str, str]:
        """Returns the exit status, the output and stderr."""
        with tempfile.TemporaryDirectory() as folder:
            source, output = pathlib.Path(folder, "list.txt"), pathlib.Path(folder, "a", "list.inc")
            source.write_text(text, "utf-8")
            run = subprocess.run([sys.executable, "-B", TOOL, source, output], check=False,
                                 capture_output=True, text=True)
            return run.returncode, output.read_text("utf-8") if output.exists() else "", run.stderr

    def assert_rejected(self, text: str, reason: str):
        status, written, errors = self.run_on(text)
        self.assertEqual(status, 1)
        self.assertEqual(written, "")
        self.assertIn(reason, errors)

    def test_texts(self):
        self.assertEqual(self.run_on("# Ours.\n# fields: name:text\nMaria\nJosé\n"),
                         (0, '"Maria",\n"José",\n', ""))

    def test_members(self):
        head = "# fields: code:text region:name area:number at:decimal6 comfort_level:name\n"
        self.assertEqual(
            self.run_on(head + "AP|kNorth|01000|0.03|kBlack\nSP|kSouth|7|-23.55|kBlack\n")[:2],
            (0, '{"AP", Region::kNorth, 1000, 30000, ComfortLevel::kBlack},\n'
                '{"SP", Region::kSouth, 7, -23550000, ComfortLevel::kBlack},\n'))

    def test_numbers_and_notes(self):
        self.assertEqual(self.run_on("# fields: name:note rows:numbers weight:number\nA|1 03|5\n"),
                         (0, "{{1, 3}, 5},\n", ""))

    def test_rejects_errors_that_compile(self):
        self.assert_rejected("# fields: a:text b:number\nx|1\ny\n", "line 3: 1 fields, expected 2")
        self.assert_rejected("# fields: a:text\nx\nx\n", "line 3: duplicate entry x")
        self.assert_rejected("# fields: a:text\nx \n", "spaces around it")
        self.assert_rejected("# fields: a:number\n-1\n", "'-1' is not a valid number")
        self.assert_rejected("# fields: a:decimal2\n1.234\n", "'1.234' is not a valid decimal2")
        self.assert_rejected("# fields: a:name\nNorth\n", "'North' is not a valid name")
        self.assert_rejected("x\n", "expected '# fields")
        self.assert_rejected("# fields: a:text\n", "no entries")


if __name__ == "__main__":
    unittest.main()
