#!/usr/bin/env python3
"""Puts the page of `fraudgen report` together: one file that loads nothing.

  tools/make_report_page.py PAGE_FOLDER CHARTS_FOLDER OUTPUT

PAGE_FOLDER has page.html, page.css, texts.json and the scripts page_*.js, which are joined in the
order of their names. The chart libraries are those of tools/requirements-charts.txt, below
CHARTS_FOLDER; one that is not what is named there is refused. The page's policy allows exactly these
scripts, by their hashes. @FACTS@ is left for the program that writes a report.
"""

import base64
import hashlib
import pathlib
import sys

REQUIREMENTS = pathlib.Path(__file__).parent / "requirements-charts.txt"


class PageError(Exception):
    pass


def libraries(charts: pathlib.Path) -> list[str]:
    """The text of each script, its licence before it."""
    found = []
    for line in REQUIREMENTS.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, version, file, sha256 = line.split()
        folder = charts / f"{name.rsplit('/', 1)[-1]}-{version}"
        try:
            script = (folder / pathlib.PurePath(file).name).read_bytes()
            licence = (folder / "LICENSE").read_text("utf-8").strip()
        except OSError as error:
            raise PageError(f"{error}; tools/setup.sh fetches it") from None
        if hashlib.sha256(script).hexdigest() != sha256:
            raise PageError(f"{folder} is not {name} {version}; remove it and run tools/setup.sh")
        found.append(f"/*! {name} {version}\n\n{licence.replace('*/', '')}\n*/\n"
                     + script.decode("utf-8"))
    return found


def script_element(text: str) -> tuple[str, str]:
    """The element, and what a policy calls it."""
    if "</script" in text.lower() or "<!--" in text:
        raise PageError("a script has what would end it too early")
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"<script>{text}</script>", f"'sha256-{digest}'"


def page(folder: pathlib.Path, charts: pathlib.Path) -> str:
    own = "".join(path.read_text("utf-8") for path in sorted(folder.glob("page_*.js")))
    elements, hashes = zip(*map(script_element, [*libraries(charts), own]))
    texts = (folder / "texts.json").read_text("utf-8").strip().replace("<", "\\u003c")
    policy = ("default-src 'none'; base-uri 'none'; form-action 'none'; "
              f"style-src 'unsafe-inline'; script-src {' '.join(hashes)}")
    whole = (folder / "page.html").read_text("utf-8")
    for mark, text in (("@POLICY@", policy),
                       ("@STYLE@", (folder / "page.css").read_text("utf-8")),
                       ("@TEXTS@", texts), ("@CHARTS@", "\n".join(elements[:-1])),
                       ("@SCRIPT@", elements[-1])):
        if whole.count(mark) != 1:
            raise PageError(f"page.html has {mark} {whole.count(mark)} times")
        whole = whole.replace(mark, text)
    if whole.count("@FACTS@") != 1:
        raise PageError("the page must have @FACTS@ once")
    return whole


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder, charts, output = map(pathlib.Path, arguments)
    try:
        text = page(folder, charts)
    except PageError as error:
        print(f"make_report_page: {error}", file=sys.stderr)
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
