"""tools/check_links.py on documents with good and bad links."""

import unittest

from tree import TreeTest

TOOL = "check_links.py"


class CheckLinks(TreeTest):
    def test_accepts_valid_links(self):
        self.write("README.md", "[a](docs/a.md) [b](docs/a.md#two-words-here) ![c](/docs/p.svg)\n"
                                "[d](https://example.org/x) [e](#top) `[f](nowhere)`\n\n# Top\n"
                                "```\n[g](nowhere)\n```\n[h]: docs/a.md\n")
        self.write("docs/a.md", "# A\n## Two `words`, here!\n[up](../README.md) [folder](../docs)\n")
        self.write("docs/p.svg")
        self.assert_clean(TOOL)

    def test_missing_file(self):
        self.write("docs/a.md", "fine\n[b](b.md)\n")
        self.assert_found(TOOL, "docs/a.md:2: b.md does not exist")

    def test_missing_section(self):
        self.write("a.md", "# One\n# One\n[good](#one-1)\n[bad](#one-2)\n[b](b.md#x)\n")
        self.write("b.md", "# Y\n")
        self.assert_found(TOOL, "a.md:4: #one-2: no such section", "a.md:5: b.md#x: no such section")

    def test_missing_target_of_a_definition(self):
        self.write("a.md", "[text][b]\n\n[b]: c.md\n")
        self.assert_found(TOOL, "a.md:3: c.md does not exist")

    def test_reports_links_outside_the_project(self):
        self.write("a.md", "[b](..)\n")
        self.assert_found(TOOL, "outside the project")


if __name__ == "__main__":
    unittest.main()
