#!/usr/bin/env python3
"""Checks the text of all files of the project.

  tools/check_text.py [ROOT]

Fails on absolute paths of a developer's machine, tabs, trailing spaces, files that are not UTF-8 or
lack a final newline, and if the headings of the README and its translation differ.
"""

import pathlib
import re

from source_files import check, source_files

# Assembled from parts, so that this file itself passes.
MACHINE_PATH = re.compile(r"(?<![\w.~/}-])/(?:" + "|".join(("work", "root", r"home/[a-z]\w*")) + r")/")
TABS_NEEDED = {"Makefile", "go.mod", ".gitmodules"}
TABS_NEEDED_SUFFIXES = {".mk", ".go", ".tsv"}
# Raw output of programs.
RAW = ("bench/results/",)
# Inputs of fuzzers and binary files.
BINARY = re.compile(r"(^|/)[\w-]*corpus/|\.(png|gif|jpe?g|ico|parquet|bin|calls)$")
README, TRANSLATION = "README.md", "README.pt-BR.md"


def headings(text: str) -> list[tuple[int, str]]:
    """Returns level and text of each heading of a Markdown text, outside code blocks."""
    found = []
    fence = None
    for line in text.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or line.strip().startswith(fence)):
            fence = None if fence else mark.group(1)
        elif fence is None and (match := re.match(r"(#{1,6})\s+(.*?)\s*#*$", line)):
            found.append((len(match.group(1)), match.group(2)))
    return found


def line_violations(name: str, text: str) -> list[str]:
    found = []
    raw = name.startswith(RAW)
    path = pathlib.PurePath(name)
    tabs = raw or path.name in TABS_NEEDED or path.suffix in TABS_NEEDED_SUFFIXES
    for number, line in enumerate(text.split("\n"), 1):
        if match := MACHINE_PATH.search(line):
            found.append(f"{name}:{number}: absolute path of a developer's machine ({match.group(0)}...)")
        if "\t" in line and not tabs:
            found.append(f"{name}:{number}: tab")
        if line != line.rstrip() and not raw:
            found.append(f"{name}:{number}: trailing space")
    if text and not text.endswith("\n") and not raw:
        found.append(f"{name}: no newline at the end of the file")
    return found


def readme_violations(root: pathlib.Path) -> list[str]:
    """Compares the levels of headings in order; their text is translated."""
    readme, translation = root / README, root / TRANSLATION
    if readme.exists() != translation.exists():
        there, missing = (README, TRANSLATION) if readme.exists() else (TRANSLATION, README)
        return [f"{there}: {missing} is missing"]
    if not readme.exists():
        return []
    ours, theirs = headings(readme.read_text("utf-8")), headings(translation.read_text("utf-8"))
    for (level, words), (other_level, other_words) in zip(ours, theirs):
        if level != other_level:
            return [f'{TRANSLATION}: heading "{other_words}" has another level than '
                    f'"{words}" in {README}']
    if len(ours) != len(theirs):
        return [f"{TRANSLATION}: {len(theirs)} headings, but {README} has {len(ours)}"]
    return []


def violations(root: pathlib.Path) -> tuple[list[str], int]:
    found = []
    count = 0
    for path in source_files(root):
        name = path.relative_to(root).as_posix()
        if BINARY.search(name):
            continue
        count += 1
        try:
            found += line_violations(name, path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            found.append(f"{name}: not UTF-8")
    return found + readme_violations(root), count


if __name__ == "__main__":
    check(violations, "text: {} files are clean")
