#!/usr/bin/env python3
"""Takes the pictures of `reveza web` in docs/images: three programs on a card of fakecuda.

  reveza/cli/reveza_web/take_pictures.py BUILD [FOLDER]        (FOLDER: default docs/images)
"""

import pathlib
import sys
import time

from testing_chromium import Browser, expect, find_chromium
from testing_world import World

SECONDS = 45  # of history


def main(arguments: list[str]) -> int:
    build = pathlib.Path(arguments[0]).resolve()
    folder = pathlib.Path(arguments[1] if len(arguments) > 1 else "docs/images")
    chromium = find_chromium()
    expect(chromium is not None, "there is no Chromium (tools/setup.sh browser installs it)")
    with World(build) as world:
        world.start_daemon()
        world.start_worker("train", 56, "--weight", "2")
        world.start_worker("infer", 30, "--interactive", load_ms=900)
        world.start_worker("tune", 44)
        _, url = world.start_web()
        with Browser(chromium) as browser:
            pages = [(name, browser.page(url, 1200, 800, dark=dark)) for name, dark in
                     (("web.png", False), ("web.pt-BR.png", True))]
            time.sleep(SECONDS)
            for name, page in pages:
                if "pt-BR" in name:
                    page.run("document.getElementById('language').click()")
                page.run("document.getElementById('zoom-in').click()")
                page.wait("reveza.state().events > 100", "events")
                page.call("Page.bringToFront")
                time.sleep(1)
                expect(page.complaints() == [], f"the console: {page.complaints()}")
                page.picture(folder / name)
                print(folder / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
