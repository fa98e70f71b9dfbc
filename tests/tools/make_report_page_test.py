"""tools/make_report_page.py on small pages and chart libraries."""

import base64
import hashlib
import re
import shutil
import subprocess
import sys
import unittest

from tree import ROOT, TreeTest

PAGE = ("<meta content=\"@POLICY@\"><style>@STYLE@</style><p>@TEXTS@</p><p>@FACTS@</p>@CHARTS@"
        "@SCRIPT@\n")
LIBRARY = "draw('everything')\n"


class MakeReportPage(TreeTest):
    def setUp(self):
        super().setUp()
        (self.tree / "tools").mkdir()
        shutil.copy(ROOT / "tools/make_report_page.py", self.tree / "tools")
        digest = hashlib.sha256(LIBRARY.encode()).hexdigest()
        self.write("tools/requirements-charts.txt", f"# ours\n@a/draw 2.0 dist/draw.js {digest}\n")
        self.write("charts/draw-2.0/draw.js", LIBRARY)
        self.write("charts/draw-2.0/LICENSE", "As you like. */\n")
        self.write("page/page.html", PAGE)
        self.write("page/page.css", "p { color: red }")
        self.write("page/texts.json", '{"a": "<b>"}\n')
        self.write("page/page_2_b.js", "second()\n")
        self.write("page/page_1_a.js", "first()\n")

    def make(self) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-B", self.tree / "tools/make_report_page.py", self.tree / "page",
             self.tree / "charts", self.tree / "out/page.html"],
            capture_output=True, text=True, check=False)
        output = self.tree / "out/page.html"
        return done.returncode, output.read_text("utf-8") if output.exists() else "", done.stderr

    def assert_refused(self, why: str):
        status, page, said = self.make()
        self.assertEqual((status, page), (1, ""))
        self.assertIn(why, said)
        self.assertEqual(said.count("\n"), 1)

    def test_all_parts_are_in_it(self):
        status, page, said = self.make()
        self.assertEqual((status, said), (0, ""))
        self.assertIn("first()\nsecond()\n</script>", page)
        self.assertIn("/*! @a/draw 2.0\n\nAs you like. \n*/\n" + LIBRARY, page)
        self.assertIn('<p>{"a": "\\u003cb>"}</p><p>@FACTS@</p>', page)

    def test_the_policy_allows_exactly_its_scripts(self):
        page = self.make()[1]
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        self.assertEqual(len(scripts), 2)
        hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                  for script in scripts]
        policy = re.search(r'content="(.*?)"', page).group(1)
        self.assertTrue(policy.startswith("default-src 'none'; "))
        self.assertTrue(policy.endswith(f"script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'"))

    def test_another_library_is_refused(self):
        self.write("charts/draw-2.0/draw.js", LIBRARY + "more()\n")
        self.assert_refused("is not @a/draw 2.0")

    def test_a_library_that_is_not_there(self):
        (self.tree / "charts/draw-2.0/LICENSE").unlink()
        self.assert_refused("tools/setup.sh fetches it")

    def test_what_would_end_a_script_is_refused(self):
        self.write("page/page_1_a.js", "'</SCRIPT>'")
        self.assert_refused("end it too early")

    def test_marks_stand_once(self):
        for wrong in (PAGE.replace("@STYLE@", ""), PAGE + "@FACTS@"):
            self.write("page/page.html", wrong)
            self.assert_refused("@STYLE@ 0 times" if "@STYLE@" not in wrong else "@FACTS@ once")


if __name__ == "__main__":
    unittest.main()
