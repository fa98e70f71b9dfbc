#!/usr/bin/env python3
"""Looks at the text of all files that are published.

  tools/check_text.py [ROOT]

Fails for a path of somebody's machine, a tab, a space at the end of a line, a file that is not
UTF-8 or does not end its last line, and when the README and its translation differ in structure.
"""

import pathlib
import re
import sys

from source_files import report, source_files

# Written in pieces, so that this file passes.
MACHINE_PATH = re.compile(r"(?<![\w.~/}-])/(?:" + "|".join(("work", "root", r"home/[a-z]\w*")) + r")/")
TABS_NEEDED = {"Makefile", "go.mod", ".gitmodules"}
TABS_NEEDED_SUFFIXES = {".mk", ".go", ".tsv"}
# Raw output of other programs is kept as it came.
RAW = ("bench/results/",)
# Inputs for a fuzzer, byte for byte.
BINARY = re.compile(r"(^|/)[\w-]*corpus/|\.(png|gif|jpe?g|ico|parquet|bin)$")
README, TRANSLATION = "README.md", "README.pt-BR.md"


def headings(text: str) -> list[tuple[int, str]]:
    """Level and words of each heading of a Markdown text, code blocks left out."""
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
            found.append(f"{name}:{number}: a path of somebody's machine ({match.group(0)}...)")
        if "\t" in line and not tabs:
            found.append(f"{name}:{number}: a tab")
        if line != line.rstrip() and not raw:
            found.append(f"{name}:{number}: a space at the end of the line")
    if text and not text.endswith("\n") and not raw:
        found.append(f"{name}: the last line has no end")
    return found


def readme_violations(root: pathlib.Path) -> list[str]:
    """Headings are translated, so what can be compared is how many of each level, in order."""
    readme, translation = root / README, root / TRANSLATION
    if readme.exists() != translation.exists():
        there, missing = (README, TRANSLATION) if readme.exists() else (TRANSLATION, README)
        return [f"{there}: {missing} is missing"]
    if not readme.exists():
        return []
    ours, theirs = headings(readme.read_text("utf-8")), headings(translation.read_text("utf-8"))
    for (level, words), (other_level, other_words) in zip(ours, theirs):
        if level != other_level:
            return [f'{TRANSLATION}: "{other_words}" stands where {README} has "{words}", '
                    "on another level"]
    if len(ours) != len(theirs):
        return [f"{TRANSLATION}: has {len(theirs)} headings, {README} has {len(ours)}"]
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


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    found, count = violations(root.resolve())
    return report(found, f"text: {count} files are clean")


if __name__ == "__main__":
    sys.exit(main())
