"""tools/embed_lists.py on good and bad lists."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "embed_lists.py"


class EmbedLists(unittest.TestCase):
    def run_on(self, text: str) -> tuple[int, str, str]:
        """Exit status, what it wrote, what it said."""
        with tempfile.TemporaryDirectory() as folder:
            source, output = pathlib.Path(folder, "list.txt"), pathlib.Path(folder, "a", "list.inc")
            source.write_text(text, "utf-8")
            run = subprocess.run([sys.executable, "-B", TOOL, source, output], check=False,
                                 capture_output=True, text=True)
            return run.returncode, output.read_text("utf-8") if output.exists() else "", run.stderr

    def assert_refused(self, text: str, why: str):
        status, written, said = self.run_on(text)
        self.assertEqual(status, 1)
        self.assertEqual(written, "")
        self.assertIn(why, said)

    def test_texts(self):
        self.assertEqual(self.run_on("# Ours.\n# fields: name:text\nMaria\nJosé\n"),
                         (0, '"Maria",\n"José",\n', ""))

    def test_members(self):
        head = "# fields: code:text region:name area:number at:decimal6 comfort_level:name\n"
        self.assertEqual(
            self.run_on(head + "AP|kNorth|01000|0.03|kBlack\nSP|kSouth|7|-23.55|kBlack\n")[:2],
            (0, '{"AP", Region::kNorth, 1000, 30000, ComfortLevel::kBlack},\n'
                '{"SP", Region::kSouth, 7, -23550000, ComfortLevel::kBlack},\n'))

    def test_refuses_what_the_compiler_would_not_see(self):
        self.assert_refused("# fields: a:text b:number\nx|1\ny\n", "line 3: 1 members instead of 2")
        self.assert_refused("# fields: a:text\nx\nx\n", "line 3: x stands there twice")
        self.assert_refused("# fields: a:text\nx \n", "space around it")
        self.assert_refused("# fields: a:number\n-1\n", "'-1' is no number")
        self.assert_refused("# fields: a:decimal2\n1.234\n", "'1.234' is no decimal2")
        self.assert_refused("# fields: a:name\nNorth\n", "'North' is no name")
        self.assert_refused("x\n", "no head before it")
        self.assert_refused("# fields: a:text\n", "has no entries")


if __name__ == "__main__":
    unittest.main()
