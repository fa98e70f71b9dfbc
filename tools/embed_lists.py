#!/usr/bin/env python3
"""Turns a list of src/datagen/lists/data/ into rows of a C++ array.

  tools/embed_lists.py LIST.txt OUTPUT.inc

A list has one entry a line, members separated by `|`. Lines that begin with # are its head; the last
one names the members: `# fields: NAME:KIND ...`. Kinds:

  text      UTF-8, not empty
  number    a whole number; zeros before it do not matter
  decimalN  a number that is stored in units of 10^-N
  name      an enumerator of the type of that member, which is called as the member: Region::kSouth
"""

import pathlib
import re
import sys


class ListError(Exception):
    pass


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def cell(kind: str, name: str, text: str) -> str:
    if kind == "text":
        if not text or text != text.strip() or '"' in text or "\\" in text:
            raise ListError(f"{name}: {text!r} is empty, or has a space around it or a quote in it")
        return f'"{text}"'
    if kind == "number" and re.fullmatch(r"\d+", text):
        return str(int(text))
    if kind == "name" and re.fullmatch(r"k[A-Z]\w*", text):
        return f"{camel(name)}::{text}"
    match = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?", text)
    places = int(kind.removeprefix("decimal")) if kind.startswith("decimal") else -1
    if match is None or len(match.group(3) or "") > places:
        raise ListError(f"{name}: {text!r} is no {kind}")
    return f"{match.group(1)}{int(match.group(2) + (match.group(3) or '').ljust(places, '0'))}"


def rows(text: str) -> list[str]:
    fields: list[tuple[str, str]] = []
    found: list[str] = []
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.startswith("#"):
                if line.startswith("# fields: "):
                    fields = [tuple(field.split(":")) for field in line.split()[2:]]
                continue
            if not fields:
                raise ListError("no head before it says what the members are")
            members = line.split("|")
            if len(members) != len(fields):
                raise ListError(f"{len(members)} members instead of {len(fields)}")
            if line in seen:
                raise ListError(f"{line} stands there twice")
            seen.add(line)
            cells = [cell(kind, name, member) for (name, kind), member in zip(fields, members)]
            found.append("{" + ", ".join(cells) + "}," if len(cells) > 1 else cells[0] + ",")
        except ListError as error:
            raise ListError(f"line {number}: {error}") from None
    if not found:
        raise ListError("has no entries")
    return found


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, output = map(pathlib.Path, arguments)
    try:
        lines = rows(source.read_text("utf-8"))
    except ListError as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
