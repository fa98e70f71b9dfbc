#!/usr/bin/env python3
"""Turns Markdown pages into rows of a C++ array: {"NAME", R"page(TEXT)page"}, by name.

  tools/embed_pages.py FOLDER OUTPUT.inc

README.md is left out: it is the list of the others.
"""

import pathlib
import sys


def rows(folder: pathlib.Path) -> list[str]:
    found = []
    for page in sorted(folder.glob("*.md")):
        if page.name == "README.md":
            continue
        text = page.read_text("utf-8")
        if ')page"' in text:
            raise ValueError(f'{page}: holds )page", which ends a literal')
        found.append(f'{{"{page.stem}", R"page({text})page"}},')
    if not found:
        raise ValueError(f"{folder}: has no pages")
    return found


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, output = map(pathlib.Path, arguments)
    try:
        lines = rows(source)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
