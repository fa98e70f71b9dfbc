#!/usr/bin/env python3
"""Generates the rows of a C++ array from a list in fraudgen/lists/data/.

  tools/embed_lists.py LIST.txt OUTPUT.inc

A list has one entry per line, with fields separated by `|`. Lines that begin with # form its
header; the last of them declares the fields: `# fields: NAME:KIND ...`. Kinds:

  text      UTF-8, not empty
  number    an integer, with or without leading zeros
  numbers   several, separated by spaces: a Range or an array
  hours     of the day, such as 8-11 14-17, both ends included: a bit mask
  decimalN  a number, stored in units of 10^-N
  name      an enumerator of the type named like the field: Region::kSouth
  note      for readers, not stored
"""

import re

from embed import run


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def cell(kind: str, name: str, text: str) -> str:
    if kind == "text":
        if not text or text != text.strip() or '"' in text or "\\" in text:
            raise ValueError(f"{name}: {text!r} must not be empty, have spaces around it, or contain quotes")
        return f'"{text}"'
    if kind == "number" and re.fullmatch(r"\d+", text):
        return str(int(text))
    if kind == "numbers" and re.fullmatch(r"\d+( \d+)+", text):
        return "{" + ", ".join(str(int(number)) for number in text.split()) + "}"
    if kind == "hours" and re.fullmatch(r"\d+-\d+( \d+-\d+)*", text):
        ends = [map(int, part.split("-")) for part in text.split()]
        return str(sum(1 << hour for first, last in ends for hour in range(first, last + 1)))
    if kind == "name" and re.fullmatch(r"k[A-Z]\w*", text):
        return f"{camel(name)}::{text}"
    match = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?", text)
    places = int(kind.removeprefix("decimal")) if kind.startswith("decimal") else -1
    if match is None or len(match.group(3) or "") > places:
        raise ValueError(f"{name}: {text!r} is not a valid {kind}")
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
                raise ValueError("expected '# fields: ...' before the first entry")
            members = line.split("|")
            if len(members) != len(fields):
                raise ValueError(f"{len(members)} fields, expected {len(fields)}")
            if line in seen:
                raise ValueError(f"duplicate entry {line}")
            seen.add(line)
            cells = [cell(kind, name, member) for (name, kind), member in zip(fields, members)
                     if kind != "note"]
            found.append("{" + ", ".join(cells) + "}," if len(cells) > 1 else cells[0] + ",")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if not found:
        raise ValueError("no entries")
    return found


if __name__ == "__main__":
    run(__doc__, 2, lambda source, output: {
        output: "\n".join(rows(source.read_text("utf-8"))) + "\n"})
