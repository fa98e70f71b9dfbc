#!/usr/bin/env python3
"""Measures frames of `reveza web` in headless Chromium while the time line of 50 programs and an hour is panned.

  bench/web_frames.py BUILD [--events 100000] [--frames 300]

Prints for each width of the view the frames per second (the display has 60), the milliseconds that a frame took to draw,
from its begin until the page's own callback has ended, and the processor time of the page's main thread for each
frame, which other programs on the machine do not change. Chromium draws by software here.
"""

import argparse
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reveza/cli/reveza_web"))
import browser_test  # noqa: E402
from testing_chromium import Browser, find_chromium  # noqa: E402
from testing_world import World  # noqa: E402

# The page's callback was registered before this one, so it has run when this one begins.
PAN = """(async (count) => {
  const stage = document.getElementById("stage");
  const next = () => new Promise((resolve) => requestAnimationFrame((began) => resolve([began, performance.now()])));
  const frames = [];
  for (let i = 0; i < count; ++i) {
    stage.dispatchEvent(new KeyboardEvent("keydown", {key: i % 2 ? "ArrowLeft" : "ArrowRight"}));
    frames.push(await next());
  }
  return frames;
})"""
ZOOM = """(() => {
  document.getElementById("stage").dispatchEvent(new KeyboardEvent("keydown", {key: "+"}));
})()"""


def processor_seconds(page: object) -> float:
    metrics = page.call("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--frames", type=int, default=300)
    arguments = parser.parse_args()
    chromium = find_chromium()
    assert chromium, "no Chromium; tools/setup.sh browser installs it"
    print(f"command: {' '.join(sys.argv)}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with World(arguments.build.resolve()) as world, Browser(chromium) as browser:
        print(world.run("--version").stdout.splitlines()[1])
        world.start_daemon()
        _, url = world.start_web()
        page = browser_test.check_many(browser, url, arguments.events // 50)
        print(f"{browser.call('Browser.getVersion')['product']}, canvas of "
              f"{page.run('document.getElementById(`canvas`).width')} pixels, {page.run('reveza.state().events')} events")
        page.call("Performance.enable", timeDomain="threadTicks")
        for _ in range(4):
            used = processor_seconds(page)
            frames = page.run(f"{PAN}({arguments.frames})")
            used = (processor_seconds(page) - used) / len(frames) * 1000
            state = page.run("reveza.state()")
            took = sorted(drawn - began for began, drawn in frames)
            seconds = (frames[-1][0] - frames[0][0]) / 1000
            print(f"{state['to'] - state['from']:6.0f} s in view: {(len(frames) - 1) / seconds:5.1f} frames/s; to draw: median "
                  f"{statistics.median(took):.1f} ms, p95 {took[int(len(took) * 0.95)]:.1f}, most {took[-1]:.1f}; "
                  f"{used:.1f} ms of a processor a frame; {state['rectangles']} rectangles", flush=True)
            for _ in range(4):
                page.run(ZOOM)


main()
