#!/usr/bin/env python3
"""Generates rows {"/PATH", "TYPE", R"asset(TEXT)asset"} of a C++ array from the files of a web page.

  tools/embed_assets.py FOLDER CHARTS_FOLDER OUTPUT.inc

FOLDER has the page's own files; index.html becomes "/". CHARTS_FOLDER has the libraries of
tools/requirements-page.txt that the page loads, each preceded by its licence; their checksums are
verified.
"""

import hashlib
import pathlib

from embed import run

REQUIREMENTS = pathlib.Path(__file__).parent / "requirements-page.txt"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".json": "application/json",
         ".svg": "image/svg+xml"}
# A string literal may have a limit (65,536 bytes in C++); compilers join adjacent ones.
PART = 60_000


def literal(name: str, text: str) -> str:
    if ')asset"' in text:
        raise ValueError(f'{name} must not contain )asset", the end of the raw string')
    parts = [text[at:at + PART] for at in range(0, len(text), PART)] or [""]
    return "\n".join(f'R"asset({part})asset"' for part in parts)


def libraries(charts: pathlib.Path) -> dict[str, str]:
    found = {}
    for line in REQUIREMENTS.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, version, file, sha256 = line.split()
        folder = charts / f"{name}-{version}"
        try:
            text = (folder / pathlib.PurePath(file).name).read_bytes()
            licence = (folder / "LICENSE").read_text("utf-8").strip()
        except OSError as error:
            raise ValueError(f"{error}; run tools/setup.sh to fetch it") from None
        if hashlib.sha256(text).hexdigest() != sha256:
            raise ValueError(f"{folder}: wrong checksum for {file}; remove it and run tools/setup.sh")
        found[pathlib.PurePath(file).name] = (
            f"/*! {name} {version}\n\n{licence.replace('*/', '')}\n*/\n" + text.decode("utf-8"))
    return found


def rows(folder: pathlib.Path, charts: pathlib.Path, output: pathlib.Path) -> dict[pathlib.Path, str]:
    files = {path.name: path.read_text("utf-8") for path in folder.iterdir()
             if path.suffix in TYPES}
    if "index.html" not in files:
        raise ValueError("contains no index.html")
    files |= libraries(charts)
    found = []
    for name, text in sorted(files.items()):
        path = "/" if name == "index.html" else f"/{name}"
        found.append(f'{{"{path}", "{TYPES[pathlib.PurePath(name).suffix]}",\n{literal(name, text)}}},\n')
    return {output: "".join(found)}


if __name__ == "__main__":
    run(__doc__, 3, rows)
