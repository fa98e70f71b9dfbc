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
        for name in ("make_report_page.py", "embed.py"):
            shutil.copy(ROOT / "tools" / name, self.tree / "tools")
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

    def assert_rejected(self, reason: str):
        status, page, errors = self.make()
        self.assertEqual((status, page), (1, ""))
        self.assertIn(reason, errors)
        self.assertEqual(errors.count("\n"), 1)

    def test_page_contains_all_parts(self):
        status, page, errors = self.make()
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("first()\nsecond()\n</script>", page)
        self.assertIn("/*! @a/draw 2.0\n\nAs you like. \n*/\n" + LIBRARY, page)
        self.assertIn('<p>{"a": "\\u003cb>"}</p><p>@FACTS@</p>', page)

    def test_policy_allows_exactly_the_scripts_of_the_page(self):
        page = self.make()[1]
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        self.assertEqual(len(scripts), 2)
        hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                  for script in scripts]
        policy = re.search(r'content="(.*?)"', page).group(1)
        self.assertTrue(policy.startswith("default-src 'none'; "))
        self.assertTrue(policy.endswith(f"script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'"))

    def test_rejects_a_library_with_another_checksum(self):
        self.write("charts/draw-2.0/draw.js", LIBRARY + "more()\n")
        self.assert_rejected("checksum for @a/draw 2.0")

    def test_rejects_a_missing_library(self):
        (self.tree / "charts/draw-2.0/LICENSE").unlink()
        self.assert_rejected("tools/setup.sh")

    def test_rejects_scripts_that_contain_an_end_tag(self):
        self.write("page/page_1_a.js", "'</SCRIPT>'")
        self.assert_rejected("</script")

    def test_requires_every_placeholder_once(self):
        for wrong in (PAGE.replace("@STYLE@", ""), PAGE + "@FACTS@"):
            self.write("page/page.html", wrong)
            self.assert_rejected("@STYLE@ once" if "@STYLE@" not in wrong else "@FACTS@ once")


if __name__ == "__main__":
    unittest.main()
