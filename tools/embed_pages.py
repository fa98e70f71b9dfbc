#!/usr/bin/env python3
"""Generates rows {"NAME", R"page(TEXT)page"} of a C++ array from Markdown pages, sorted by name.

  tools/embed_pages.py FOLDER OUTPUT.inc

Writes enumerators of the names, such as kGpuMemory for gpu-memory, to ids.inc beside it, in the same
order. Skips README.md, the index of the pages.
"""

import pathlib

from embed import run


def rows(folder: pathlib.Path, output: pathlib.Path) -> dict[pathlib.Path, str]:
    found, ids = [], []
    for page in sorted(folder.glob("*.md")):
        if page.name == "README.md":
            continue
        text = page.read_text("utf-8")
        if ')page"' in text:
            raise ValueError(f'{page.name} must not contain )page", the end of the raw string')
        found.append(f'{{"{page.stem}", R"page({text})page"}},\n')
        ids.append(f"k{''.join(map(str.capitalize, page.stem.split('-')))},\n")
    if not found:
        raise ValueError("contains no pages")
    return {output: "".join(found), output.with_name("ids.inc"): "".join(ids)}


if __name__ == "__main__":
    run(__doc__, 2, rows)
