"""The documentation of `make docs`: it builds, its pages fetch nothing, and each kind of mistake fails.

  docs_test.py BUILD
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from tree import ROOT, TreeTest

sys.path.insert(0, str(ROOT / "reveza/cli/reveza_web"))
from testing_chromium import Browser, find_chromium  # pylint: disable=wrong-import-position

SITE = pathlib.Path(sys.argv.pop(1)).resolve() / "docs"
ELSEWHERE = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)


def build(output: pathlib.Path, *source: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "tools/build_docs.sh", output, *source], capture_output=True, text=True, check=False)


class Fetched(html.parser.HTMLParser):
    """Collects what a browser fetches for a page, and where the page's links lead."""

    def __init__(self):
        super().__init__()
        self.urls, self.links = [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("script", "img", "source", "iframe", "object", "embed", "link"):
            wanted = tag != "link" or values.get("rel") not in ("index", "search", "next", "prev", "canonical")
            self.urls += [values[name] for name in ("src", "href", "data") if wanted and values.get(name)]
        elif tag == "a" and values.get("href"):
            self.links.append(values["href"])


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = build(SITE)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.pages = [page for page in SITE.rglob("*.html") if "_downloads" not in page.parts]

    def parse(self, page):
        parser = Fetched()
        parser.feed(page.read_text("utf-8"))
        return parser

    def test_has_each_markdown_page_and_package(self):
        for page in (ROOT / "docs").rglob("*.md"):
            self.assertTrue((SITE / page.relative_to(ROOT)).with_suffix(".html").exists(), page)
        for package, names in (("reveza", ("hold", "Executor", "Usage.wait_seconds")),
                               ("fraudgen", ("generate", "Stream", "Column.unit")),
                               ("phi", ("measure", "iit", "Value.nats"))):
            text = (SITE / f"docs/site/{package}.html").read_text("utf-8")
            for name in names:
                self.assertTrue(f'id="{package}.{name}"' in text, f"{package}.{name}")

    def test_pages_fetch_nothing_from_elsewhere(self):
        count = 0
        for page in self.pages:
            for url in self.parse(page).urls:
                count += 1
                self.assertIsNone(ELSEWHERE.match(url), f"{page}: {url}")
        self.assertGreater(count, 1000)
        for sheet in SITE.rglob("*.css"):
            for url in re.findall(r"(?:@import|url\()\s*[\"']?([^\"')\s]+)", sheet.read_text("utf-8")):
                self.assertFalse(ELSEWHERE.match(url), f"{sheet}: {url}")

    def test_relative_links_lead_to_files(self):
        for page in self.pages:
            for link in self.parse(page).links:
                path = link.partition("#")[0]
                if path and not re.match(r"[a-z]+:", path):
                    self.assertTrue((page.parent / path).exists(), f"{page}: {link}")

    @unittest.skipIf(find_chromium() is None, "no Chromium")
    def test_works_from_files(self):
        with Browser(find_chromium()) as browser:
            page = browser.page((SITE / "docs/protocol.html").as_uri())
            page.wait("document.querySelectorAll('pre.mermaid svg').length === 2")
            self.assertEqual(page.run("document.querySelectorAll('pre.mermaid .error-text').length"), 0)
            found = browser.page((SITE / "search.html").as_uri() + "?q=swap")
            found.wait("document.querySelectorAll('ul.search li').length > 3")
            for each in (page, found):
                self.assertEqual(each.complaints(), [])
                asked = [event["request"]["url"] for event in each.events("Network.requestWillBeSent")]
                self.assertEqual([url for url in asked if not url.startswith(("file:", "data:"))], [])


class Mistakes(TreeTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "docs/site/extra", self.tree / "docs/site/extra")
        shutil.copytree(ROOT / "docs/site/static", self.tree / "docs/site/static")
        shutil.copy(ROOT / "docs/site/conf.py", self.tree / "docs/site")
        self.write("CMakeLists.txt", "project(reveza VERSION 1.2)\n")
        self.write("python/tool.py", '"""Does nothing."""\n')
        self.write("docs/site/index.rst", "Site\n====\n\n.. toctree::\n\n   /docs/page\n\n.. automodule:: tool\n"
                                          "   :members:\n")
        self.page = self.write("docs/page.md", "# A page\n\n[itself](page.md#a-page)\n")

    def build(self):
        return build(self.tree / "build/docs", self.tree)

    def assert_fails(self, *words):
        for _ in range(2):  # also if what is built already is used
            done = self.build()
            self.assertNotEqual(done.returncode, 0)
            for word in words:
                self.assertIn(word, done.stderr)

    def test_none(self):
        done = self.build()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue((self.tree / "build/docs/index.html").exists())

    def test_broken_link(self):
        self.page.write_text("# A page\n\n[another](other.md)\n")
        self.assert_fails("page.md:3", "other.md")

    def test_missing_section(self):
        self.page.write_text("# A page\n\n[a section](page.md#another)\n")
        self.assert_fails("page.md:3", "another")

    def test_missing_picture(self):
        self.page.write_text("# A page\n\n![picture](images/none.png)\n")
        self.assert_fails("page.md:3", "none.png")

    def test_page_that_no_contents_list(self):
        self.write("docs/other.md", "# Another\n")
        self.assert_fails("other.md", "toctree")

    def test_missing_page(self):
        self.page.unlink()
        self.assert_fails("index.rst", "docs/page")

    def test_invalid_docstring(self):
        self.write("python/tool.py", 'def run():\n    """See :func:`walk`."""\n')
        self.assert_fails("tool.py", "walk")


if __name__ == "__main__":
    if not list((ROOT / "build/charts").glob("mermaid-*")):
        print("skipped: no Mermaid (tools/setup.sh docs)")
        sys.exit(77)
    unittest.main()
