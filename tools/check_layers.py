#!/usr/bin/env python3
"""Fails when a file includes one from a room above its own.

  tools/check_layers.py [ROOT]

The rooms stand in LAYERS from the street to the cellar; an #include only points down the list, or
stays in its room. Folders inside a room of INSIDE have an order of their own; what lies in the room
itself is below them all. tests/ and bench/ span rooms: they may include anything, and nothing else
may include them but a program of apps/. A room's own tests follow the rule of the room.
"""

import os.path
import pathlib
import re
import sys

from source_files import report, source_files

LAYERS = [
    {"apps"},
    {"interpose"},
    {"swap"},
    {"runner"},
    {"doctor"},
    {"monitor"},
    {"daemon"},
    {"simulator"},
    {"scheduler"},
    {"wire"},
    {"datagen", "phi"},
    {"platform"},
    {"base"},
]
DEPTH = {room: depth for depth, rooms in enumerate(LAYERS) for room in rooms}
# From the top of a room to its bottom.
INSIDE = {
    "runner": [{"engine"}, {"report"}, {"decide", "journal"}, {"definition"}, {"supervisor"}],
    "phi": [
        {"run"},
        {"gpu"},
        {"output", "plot", "cycles"},
        {"series"},
        {"measures", "discrete"},
        {"arithmetic"},
    ],
}
FLOOR = {
    f"{room}/{folder}": floor
    for room, floors in INSIDE.items()
    for floor, folders in enumerate(floors)
    for folder in folders
}
SPANNING = {"tests", "bench"}
# It stands in for a foreign library, so it must not know ours.
FAKECUDA_MAY_INCLUDE = {"fakecuda", "base"}
CODE = {".cc", ".h", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def room_of(path: pathlib.PurePath) -> str | None:
    """The room of a file that is given by its path from the root; None for what is outside."""
    if len(path.parts) < 2:
        return None
    if path.parts[0] == "src":
        return path.parts[1] if len(path.parts) > 2 else None
    if path.parts[0] in SPANNING | {"apps", "fakecuda"}:
        return path.parts[0]
    return None


def included_room(root: pathlib.Path, file: pathlib.PurePath, name: str) -> str | None:
    """The room an include leads to; None where it is nobody's (a generated file, a library)."""
    beside = pathlib.PurePath(os.path.normpath(file.parent / name))
    if (root / beside).exists():
        return room_of(beside)
    first = pathlib.PurePath(name).parts[0]
    known = first in DEPTH or first in SPANNING or first == "fakecuda"
    return first if known and "/" in name else None


def allowed(room: str, other: str) -> bool:
    if room == other or room in SPANNING:
        return True
    if room == "fakecuda":
        return other in FAKECUDA_MAY_INCLUDE
    if other in SPANNING:
        return room == "apps"
    if other == "fakecuda":
        return False
    return DEPTH[other] > DEPTH[room]


def folder_of(path: pathlib.PurePath) -> str | None:
    """The folder inside a room of INSIDE, as "room/folder"; None for all else."""
    if len(path.parts) < 4 or path.parts[0] != "src" or path.parts[1] not in INSIDE:
        return None
    return "/".join(path.parts[1:3])


def climbs(root: pathlib.Path, file: pathlib.PurePath, name: str) -> str | None:
    """What is wrong with an include inside of a room, if anything is."""
    room = room_of(file)
    beside = pathlib.PurePath(os.path.normpath(file.parent / name))
    other = beside if (root / beside).exists() else pathlib.PurePath("src", name)
    if room not in INSIDE or room_of(other) != room:
        return None
    own, theirs = folder_of(file), folder_of(other)
    for folder in (own, theirs):
        if folder is not None and folder not in FLOOR:
            return f"src/{folder} is no folder that tools/check_layers.py knows"
    if theirs is None or own == theirs or (own and FLOOR[own] < FLOOR[theirs]):
        return None
    return f'{own or room} may not include {theirs} ("{name}")'


def violations(root: pathlib.Path) -> tuple[list[str], int]:
    """What breaks the rule, and how many files were looked at."""
    found = []
    count = 0
    for path in source_files(root):
        file = path.relative_to(root)
        room = room_of(file)
        if path.suffix not in CODE or room is None:
            continue
        count += 1
        if room not in DEPTH and room not in SPANNING and room != "fakecuda":
            found.append(f"{file}: src/{room} is no room that tools/check_layers.py knows")
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in INCLUDE.finditer(text):
            other = included_room(root, file, match.group(1))
            if other is not None and not allowed(room, other):
                said = f'{room} may not include {other} ("{match.group(1)}")'
            else:
                said = climbs(root, file, match.group(1))
            if said is not None:
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{file}:{line}: {said}")
    return found, count


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    found, count = violations(root.resolve())
    if count == 0:
        found.append(f"{root}: no source file found")
    return report(found, f"layers: {count} files include only what is below them")


if __name__ == "__main__":
    sys.exit(main())
