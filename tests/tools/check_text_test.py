"""tools/check_text.py on files that should not be published."""

import unittest

from tree import TreeTest

TOOL = "check_text.py"


class CheckText(TreeTest):
    def test_clean_text(self):
        self.write("a.md", "It is in ~/root/, $HOME/work/ or https://example.org/root/ of nobody.\n")
        self.write("Makefile", "all:\n\techo\n")
        self.assert_clean(TOOL)

    def test_paths_of_machines(self):
        for number, path in enumerate(("/wo" "rk/x", "/ro" "ot/x", "/ho" "me/someone/x")):
            self.write(f"{number}.md", f"fine\nsee {path}\n")
        self.assert_found(TOOL, "0.md:2: a path", "1.md:2: a path", "2.md:2: a path")

    def test_white_space(self):
        self.write("a.cc", "int a;\n\tint b;\nint c; \nint d;")
        self.assert_found(TOOL, "a.cc:2: a tab", "a.cc:3: a space", "a.cc: the last line")

    def test_raw_results_keep_their_white_space_but_no_path(self):
        self.write("bench/results/one/a.log", "a\tb \n" "/ro" "ot/x\nend")
        self.assert_found(TOOL, "a.log:2: a path")

    def test_bytes_that_are_no_text(self):
        self.write("a.md", b"\xff\xfe\n")
        self.write("tests/fuzz/wire_corpus/a", b"\xff\xfe")
        self.assert_found(TOOL, "a.md: not UTF-8")

    def test_readme_needs_its_translation(self):
        self.write("README.md", "# Reveza\n")
        self.assert_found(TOOL, "README.md: README.pt-BR.md is missing")

    def test_translation_needs_its_readme(self):
        self.write("README.pt-BR.md", "# Reveza\n")
        self.assert_found(TOOL, "README.pt-BR.md: README.md is missing")

    def test_headings_are_compared_without_code(self):
        self.write("README.md", "# Reveza\n```\n# not one\n```\n## Use\n")
        self.write("README.pt-BR.md", "# Reveza\n## Uso\n")
        self.assert_clean(TOOL)

    def test_missing_heading(self):
        self.write("README.md", "# Reveza\n## Use\n## Limits\n")
        self.write("README.pt-BR.md", "# Reveza\n## Uso\n")
        self.assert_found(TOOL, "has 2 headings, README.md has 3")

    def test_heading_on_another_level(self):
        self.write("README.md", "# Reveza\n## Use\n")
        self.write("README.pt-BR.md", "# Reveza\n### Uso\n")
        self.assert_found(TOOL, '"Uso" stands where README.md has "Use"')


if __name__ == "__main__":
    unittest.main()
