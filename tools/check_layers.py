#!/usr/bin/env python3
"""Checks that files include only headers of rooms below their own.

  tools/check_layers.py [ROOT]

A room is a folder of LAYERS. It may include itself and the rooms below it in its own product, and
those of common/; never another product. tests/ and bench/ span rooms: they may include anything,
and nothing may include them. fakecuda/ stands in for a foreign library and includes only itself.
"""

import os.path
import pathlib
import re

from source_files import check, source_files

# The rooms of each product from top to bottom. Rooms of one set may not include each other.
LAYERS = {
    "common": [{"cli", "python", "version"}, {"settings", "table", "sqlite"}, {"platform"}, {"base"}],
    "reveza": [
        {"cli/reveza_metrics", "cli/reveza_web"},
        {"cli/reveza", "cli/revezad", "cli/reveza_supervisor", "cli/demo_worker"},
        {"jobs/cluster"},
        {"jobs/engine"},
        {"jobs/report"},
        {"jobs/decide", "jobs/journal"},
        {"jobs/definition"},
        {"jobs/supervisor"},
        {"insight/doctor", "insight/monitor", "insight/page"},
        {"gpu/calls"},
        {"gpu/interpose"},
        {"gpu/swap"},
        {"gpu/daemon", "gpu/simulator"},
        {"gpu/usage"},
        {"gpu/scheduler"},
        {"gpu/wire", "gpu/nvml"},
    ],
    "fraudgen": [
        {"cli", "python"},
        {"report"},
        {"check", "stream"},
        {"run"},
        {"output"},
        {"model/defects", "model/graph"},
        {"model/classic", "model/coherent"},
        {"model"},
        {"schema"},
        {"lists"},
        {"values"},
    ],
    "phi": [
        {"cli", "python"},
        {"run"},
        {"gpu"},
        {"output", "plot", "cycles"},
        {"series"},
        {"measures", "discrete"},
        {"arithmetic"},
    ],
}
DEPTH = {
    f"{product}/{room}": depth
    for product, floors in LAYERS.items()
    for depth, rooms in enumerate(floors)
    for room in rooms
}
SPANNING = {"tests", "bench"}
CODE = {".cc", ".h", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def room_of(path: pathlib.PurePath) -> str | None:
    """Returns the room of a file, "PRODUCT/?" for an unknown folder of a product, None outside of them."""
    top = path.parts[0] if path.parts else ""
    if top in SPANNING or top == "fakecuda":
        return top
    if top not in LAYERS:
        return None
    for length in range(len(path.parts) - 1, 1, -1):
        room = "/".join(path.parts[:length])
        if room in DEPTH:
            return room
    return f"{top}/?"


def included_room(root: pathlib.Path, file: pathlib.PurePath, name: str) -> str | None:
    """Returns the room of an included file, None for generated files and libraries."""
    beside = pathlib.PurePath(os.path.normpath(file.parent / name))
    return room_of(beside if (root / beside).exists() else pathlib.PurePath(name))


def allowed(room: str, other: str) -> bool:
    if room == other or room in SPANNING:
        return True
    if other in SPANNING or "fakecuda" in (room, other):
        return False
    product, other_product = room.split("/")[0], other.split("/")[0]
    if product != other_product:
        return other_product == "common"
    return DEPTH[other] > DEPTH[room]


def violations(root: pathlib.Path) -> tuple[list[str], int]:
    """Returns the violations and the number of files checked."""
    found = []
    count = 0
    for path in source_files(root):
        file = path.relative_to(root)
        room = room_of(file)
        if path.suffix not in CODE or room is None:
            continue
        count += 1
        if room.endswith("/?"):
            found.append(f"{file}: {file.parent} is not listed in tools/check_layers.py")
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in INCLUDE.finditer(text):
            other = included_room(root, file, match.group(1))
            if other is not None and not other.endswith("/?") and not allowed(room, other):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f'{file}:{line}: {room} may not include {other} ("{match.group(1)}")')
    if count == 0:
        found.append(f"{root}: no source files found")
    return found, count


if __name__ == "__main__":
    check(violations, "layers: {} files include only what is below them")
