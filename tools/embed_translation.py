#!/usr/bin/env python3
"""Generates the rows of a C++ array from a translation in gettext's format.

  tools/embed_translation.py pt_BR.po OUTPUT.inc

Each entry has a msgid and a msgstr, both of one or several strings; the entry of "" is the file's header.
"""

import re

from embed import run

STRING = re.compile(r'^(msgid|msgstr)? ?("(?:[^"\\]|\\.)*")$')


def entries(text: str) -> list[tuple[str, str]]:
    """The pairs of C string literals in a file, without its header."""
    found: list[list[str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = STRING.match(line)
        if match is None:
            raise ValueError(f"line {number}: expected msgid \"...\", msgstr \"...\" or \"...\"")
        kind, string = match.groups()
        if kind == "msgid":
            found.append([string])
        elif kind == "msgstr" and found and len(found[-1]) == 1:
            found[-1].append(string)
        elif kind is None and found:
            found[-1][-1] = found[-1][-1][:-1] + string[1:]
        else:
            raise ValueError(f"line {number}: {kind} without a msgid")
    for pair in found:
        if len(pair) != 2 or pair[1] == '""':
            raise ValueError(f"{pair[0]} has no translation")
    pairs = [(pair[0], pair[1]) for pair in found if pair[0] != '""']
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an entry is there twice")
    return pairs


if __name__ == "__main__":
    run(__doc__, 2, lambda source, output: {
        output: "".join(f"{{{english}, {portuguese}}},\n"
                        for english, portuguese in entries(source.read_text("utf-8")))})
