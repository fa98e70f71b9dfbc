#!/usr/bin/env python3
"""Opens reports in headless Chromium and verifies that every chart is rendered.

  browser_test.py FRAUDGEN

Ends with 77 (skipped) where there is no Chromium, or no chart library in FRAUDGEN.
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
COMMON = {"days", "hours", "hours-fraud", "amounts", "map", "map-fraud", "types", "separation"}
TRANSACTIONS = {f"transactions-{name}" for name in COMMON | {"type", "channel", "merchant_category"}}
COHERENT = TRANSACTIONS | {"transactions-delays", "chain"}
CLASSIC = TRANSACTIONS | {f"rides-{name}" for name in
                          COMMON | {"app", "category", "payment_method", "status"}}


class Drawn(html.parser.HTMLParser):
    """Collects the number of drawn elements per chart, and the attributes of <body>."""

    def __init__(self):
        super().__init__()
        self.charts: dict[str, int] = {}
        self.body: dict[str, str] = {}
        self.language = ""
        self._chart = ""
        self._depth = 0

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "html":
            self.language = attributes.get("lang", "")
        if tag == "body":
            self.body = attributes
        if "data-chart" in attributes:
            self._chart = attributes["data-chart"]
            self.charts[self._chart] = 0
            self._depth = 0
        if self._chart:
            if tag == "div":
                self._depth += 1
            if tag in ("path", "rect", "line", "circle", "text"):
                self.charts[self._chart] += 1

    def handle_endtag(self, tag):
        if self._chart and tag == "div":
            self._depth -= 1
            if self._depth == 0:
                self._chart = ""


class Failure(Exception):
    pass


def expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise Failure(what)


def browse(chromium: str, page: pathlib.Path, folder: pathlib.Path) -> tuple[Drawn, str, str]:
    """Returns the rendered page, its text and the console output."""
    profile = folder / "profile"
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={profile}", "--window-size=1200,4000", "--virtual-time-budget=20000",
         "--enable-logging=stderr", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=240, check=False)
    shutil.rmtree(profile, ignore_errors=True)
    expect(done.returncode == 0, f"Chromium ended with {done.returncode}: {done.stderr[-500:]}")
    drawn = Drawn()
    drawn.feed(done.stdout)
    said = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return drawn, done.stdout, said


def look(chromium: str, page: pathlib.Path, folder: pathlib.Path, charts: set[str],
         language: str) -> None:
    drawn, dom, said = browse(chromium, page, folder)
    expect(said == "", f"{page.name}: the console said {said}")
    expect(drawn.charts.keys() == charts,
           f"{page.name}: charts differ: {sorted(drawn.charts.keys() ^ charts)}")
    for name, shapes in drawn.charts.items():
        expect(shapes >= 10, f"{page.name}: {name} has only {shapes} shapes")
    expect(drawn.body.get("data-failed") == "0", f"{page.name}: {drawn.body}")
    expect(drawn.language.startswith(language), f"{page.name}: is in {drawn.language}")
    main = re.search(r"<main.*</main>", dom, re.DOTALL).group(0)
    for bad in ("NaN", "undefined", "[object"):
        expect(bad not in main, f"{page.name}: {bad} in {main[max(0, main.find(bad) - 80):][:160]}")


def look_at_policy(chromium: str, page: pathlib.Path, folder: pathlib.Path) -> None:
    """Injected content neither runs nor loads."""
    text = page.read_text("utf-8")
    smuggled = folder / "smuggled.html"
    smuggled.write_text(text.replace("<body>", "<body><img src='other.png'>"
                        "<script>document.body.dataset.smuggled = 1</script>", 1), "utf-8")
    drawn, _, said = browse(chromium, smuggled, folder)
    expect("data-smuggled" not in drawn.body, "a strange script ran")
    expect(drawn.body.get("data-failed") == "0", "the page's own scripts did not run")
    expect("script" in said and "other.png" in said, f"nothing was refused: {said}")


def main(arguments: list[str]) -> int:
    fraudgen = str(pathlib.Path(arguments[0]).resolve())
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("skipped: there is no Chromium (tools/setup.sh browser installs it)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="report-browser-") as name:
        folder = pathlib.Path(name)

        def run(*words: str) -> subprocess.CompletedProcess:
            return subprocess.run([fraudgen, "--quiet", *words], cwd=folder, capture_output=True,
                                  text=True, timeout=240, check=False)

        for model, more in (("coherent", ["--customers", "300"]), ("classic", ["--type", "all"])):
            made = run("--model", model, "--rows", "20000", "--format", "jsonl", *more, "--output",
                       model)
            expect(made.returncode == 0, made.stderr)
        for model, language, charts in (("coherent", "en", COHERENT), ("coherent", "pt", COHERENT),
                                        ("classic", "pt", CLASSIC)):
            page = folder / f"{model}-{language}.html"
            made = run("report", model, "-o", page.name, "--language", language)
            if "chart library" in made.stderr:
                print("skipped: " + made.stderr.strip())
                return SKIPPED
            expect(made.returncode == 0, made.stderr)
            look(chromium, page, folder, charts, language)
        look_at_policy(chromium, folder / "coherent-en.html", folder)
    print("every chart of three pages has been drawn, and nothing else ran")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(failure, file=sys.stderr)
        sys.exit(1)
