#!/usr/bin/env python3
"""Generates rows {"NAME", R"toml(TEXT)toml"} of a C++ array from the scenarios in a folder, sorted by name.

  tools/embed_scenarios.py FOLDER OUTPUT.inc

NAME is that of the file, which must be the one that the text gives.
"""

import pathlib

from embed import run


def rows(folder: pathlib.Path, output: pathlib.Path) -> dict[pathlib.Path, str]:
    found = []
    for path in sorted(folder.glob("*.toml")):
        text = path.read_text("utf-8")
        if ')toml"' in text or f'\nname = "{path.stem}"\n' not in text:
            raise ValueError(f'{path.name} must have the line name = "{path.stem}", and no )toml"')
        found.append(f'{{"{path.stem}", R"toml({text})toml"}},\n')
    return {output: "".join(found)}


if __name__ == "__main__":
    run(__doc__, 2, rows)
