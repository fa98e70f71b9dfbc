"""The command line of the scripts that generate files of the build tree."""

import pathlib
import sys
from collections.abc import Callable


def run(usage: str, count: int, generate: Callable[..., dict[pathlib.Path, str]]) -> None:
    """Calls `generate` with the `count` paths of the command line, writes the files that it returns,
    and exits. Prints `usage` or a ValueError."""
    if len(sys.argv) != count + 1:
        print(usage, file=sys.stderr)
        sys.exit(2)
    try:
        files = generate(*map(pathlib.Path, sys.argv[1:]))
    except ValueError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
