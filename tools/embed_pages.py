#!/usr/bin/env python3
"""Generates rows {"NAME", R"page(TEXT)page"} of a C++ array from Markdown pages, sorted by name.

  tools/embed_pages.py FOLDER OUTPUT.inc

Skips README.md, the index of the pages.
"""

import pathlib

from embed import run


def rows(folder: pathlib.Path, output: pathlib.Path) -> dict[pathlib.Path, str]:
    found = []
    for page in sorted(folder.glob("*.md")):
        if page.name == "README.md":
            continue
        text = page.read_text("utf-8")
        if ')page"' in text:
            raise ValueError(f'{page.name} must not contain )page", the end of the raw string')
        found.append(f'{{"{page.stem}", R"page({text})page"}},\n')
    if not found:
        raise ValueError("contains no pages")
    return {output: "".join(found)}


if __name__ == "__main__":
    run(__doc__, 2, rows)
