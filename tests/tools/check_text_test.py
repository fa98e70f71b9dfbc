"""tools/check_text.py on files that should not be published."""

import unittest

from tree import TreeTest

TOOL = "check_text.py"


class CheckText(TreeTest):
    def test_clean_text(self):
        self.write("a.md", "It is in ~/root/, $HOME/work/ or https://example.org/root/ of nobody.\n")
        self.write("Makefile", "all:\n\techo\n")
        self.assert_clean(TOOL)

    def test_reports_absolute_paths(self):
        for number, path in enumerate(("/wo" "rk/x", "/ro" "ot/x", "/ho" "me/someone/x")):
            self.write(f"{number}.md", f"fine\nsee {path}\n")
        self.assert_found(TOOL, "0.md:2: absolute path", "1.md:2: absolute path", "2.md:2: absolute path")

    def test_reports_tabs_and_trailing_spaces(self):
        self.write("a.cc", "int a;\n\tint b;\nint c; \nint d;")
        self.assert_found(TOOL, "a.cc:2: tab", "a.cc:3: trailing space", "a.cc: no newline")

    def test_raw_results_may_contain_white_space_but_no_paths(self):
        self.write("bench/results/one/a.log", "a\tb \n" "/ro" "ot/x\nend")
        self.assert_found(TOOL, "a.log:2: absolute path")

    def test_reports_invalid_utf8(self):
        self.write("a.md", b"\xff\xfe\n")
        self.write("tests/fuzz/wire_corpus/a", b"\xff\xfe")
        self.assert_found(TOOL, "a.md: not UTF-8")

    def test_reports_a_missing_translation(self):
        self.write("README.md", "# Reveza\n")
        self.assert_found(TOOL, "README.md: README.pt-BR.md is missing")

    def test_reports_a_missing_readme(self):
        self.write("README.pt-BR.md", "# Reveza\n")
        self.assert_found(TOOL, "README.pt-BR.md: README.md is missing")

    def test_ignores_headings_in_code(self):
        self.write("README.md", "# Reveza\n```\n# not one\n```\n## Use\n")
        self.write("README.pt-BR.md", "# Reveza\n## Uso\n")
        self.assert_clean(TOOL)

    def test_missing_heading(self):
        self.write("README.md", "# Reveza\n## Use\n## Limits\n")
        self.write("README.pt-BR.md", "# Reveza\n## Uso\n")
        self.assert_found(TOOL, "2 headings, but README.md has 3")

    def test_heading_on_another_level(self):
        self.write("README.md", "# Reveza\n## Use\n")
        self.write("README.pt-BR.md", "# Reveza\n### Uso\n")
        self.assert_found(TOOL, '"Uso" has another level than "Use"')


if __name__ == "__main__":
    unittest.main()
