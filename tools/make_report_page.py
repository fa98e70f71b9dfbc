#!/usr/bin/env python3
"""Assembles the page of `fraudgen report`: a single file without external resources.

  tools/make_report_page.py PAGE_FOLDER CHARTS_FOLDER OUTPUT

PAGE_FOLDER contains page.html, page.css, texts.json and scripts page_*.js, which are concatenated
in order of their names. CHARTS_FOLDER contains the chart libraries of
tools/requirements-charts.txt; their checksums are verified. The page's content security policy
allows exactly these scripts by hash. @FACTS@ remains as a placeholder, which `fraudgen report`
replaces.
"""

import base64
import hashlib
import pathlib

from embed import run

REQUIREMENTS = pathlib.Path(__file__).parent / "requirements-charts.txt"


def libraries(charts: pathlib.Path) -> list[str]:
    """Returns the text of each library, preceded by its licence."""
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
            raise ValueError(f"{error}; run tools/setup.sh to fetch it") from None
        if hashlib.sha256(script).hexdigest() != sha256:
            raise ValueError(f"{folder}: wrong checksum for {name} {version}; remove it and run tools/setup.sh")
        found.append(f"/*! {name} {version}\n\n{licence.replace('*/', '')}\n*/\n"
                     + script.decode("utf-8"))
    return found


def script_element(text: str) -> tuple[str, str]:
    """Returns the script element and its hash source for the policy."""
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("a script must not contain </script or <!--")
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"<script>{text}</script>", f"'sha256-{digest}'"


def page(folder: pathlib.Path, charts: pathlib.Path,
         output: pathlib.Path) -> dict[pathlib.Path, str]:
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
            raise ValueError(f"page.html must contain {mark} once, found {whole.count(mark)}")
        whole = whole.replace(mark, text)
    if whole.count("@FACTS@") != 1:
        raise ValueError("page.html must contain @FACTS@ once")
    return {output: whole}


if __name__ == "__main__":
    run(__doc__, 3, page)
