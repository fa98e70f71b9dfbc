#!/usr/bin/env python3
"""Checks that tests named in Markdown files exist and are enabled.

  tools/check_tests_named.py [ROOT]

A test is named in backticks, as GoogleTest names it: `Suite.Name`, or `Suite.*` for all of a suite.
"""

import pathlib
import re

from source_files import check, source_files

NAMED = re.compile(r"`([A-Z]\w*)\.([A-Z]\w*|\*)`")
DEFINED = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)


def defined_tests(files: list[pathlib.Path]) -> dict[str, set[str]]:
    """Returns the test names of each suite."""
    suites: dict[str, set[str]] = {}
    for path in files:
        if path.suffix in (".cc", ".h"):
            for suite, name in DEFINED.findall(path.read_text("utf-8")):
                suites.setdefault(suite, set()).add(name)
    return suites


def violations(root: pathlib.Path) -> tuple[list[str], int]:
    found = []
    count = 0
    files = source_files(root)
    suites = defined_tests(files)
    for path in files:
        if path.suffix != ".md":
            continue
        text = path.read_text("utf-8")
        for match in NAMED.finditer(text):
            suite, name = match.groups()
            count += 1
            place = f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
            if suite not in suites:
                found.append(f"{place}: test suite {suite} does not exist")
            elif name != "*" and name not in suites[suite]:
                disabled = f"DISABLED_{name}" in suites[suite]
                found.append(f"{place}: test {suite}.{name} is disabled" if disabled else
                             f"{place}: test {suite}.{name} does not exist")
    return found, count


if __name__ == "__main__":
    check(violations, "tests: {} references are valid")
