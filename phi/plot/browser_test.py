#!/usr/bin/env python3
"""Renders pages of `phi plot` in headless Chromium and checks that every chart is drawn.

  browser_test.py PHI

Exits with 77 (skipped) without Chromium.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def expect(condition: bool, message: str) -> None:
    if not condition:
        print(message, file=sys.stderr)
        sys.exit(1)


def main(arguments: list[str]) -> int:
    phi = str(pathlib.Path(arguments[0]).resolve())
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("skipped: there is no Chromium (tools/setup.sh browser installs it)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="phi-browser-") as name:
        folder = pathlib.Path(name)

        def run(*words: str) -> None:
            done = subprocess.run([phi, *words], cwd=folder, capture_output=True, text=True,
                                  timeout=240, check=False)
            expect(done.returncode == 0, f"phi {words[0]}: {done.stderr}")

        run("run", "--cycles", "120", "--runs", "3", "--dimension", "32", "--feedback", "0.5",
            "--measure", "phi_legacy,si", "--every", "10", "--quiet", "--output", "run")
        for file in ("page.html", "picture.svg"):
            run("plot", "run", "-o", file)
            profile = folder / "profile"
            done = subprocess.run(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--user-data-dir={profile}", "--enable-logging=stderr", "--dump-dom",
                 (folder / file).as_uri()],
                capture_output=True, text=True, timeout=240, check=False)
            expect(done.returncode == 0, f"Chromium ended with {done.returncode}")
            messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
            expect(not messages, f"{file}: console messages {messages}")
            drawn = dict.fromkeys(re.findall(r'data-chart="([^"]+)"', done.stdout))
            expect(list(drawn) == ["track-phi_legacy", "track-si", "pairs", "partition"],
                   f"{file}: drew {list(drawn)}")
            expect(done.stdout.count("<circle") == 6, f"{file}: not six modules")
            expect(done.stdout.count('class="null"') == 2, f"{file}: not two null bands")
            for bad in ("nan", "inf "):
                expect(f'"{bad}' not in done.stdout and f" {bad}" not in done.stdout.lower(),
                       f"{file}: has {bad}")
    print("rendered one page and one picture")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
