#!/usr/bin/env python3
"""Compares what `reveza simulate` predicts with what programs on fakecuda did.

  bench/simulate.py [--build build] [--runs 3] [--log FILE]

Runs programs that do not fit together, in three scenes, takes the daemon's trace, simulates it, and prints when
the last program ended, really and in the simulation.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Programs of a scene: (name, options of `reveza run`, MiB, steps, milliseconds of a step).
SCENES = {
    "three equal": [("a", [], 150, 250, 20), ("b", [], 150, 250, 20), ("c", [], 150, 250, 20)],
    "weights 1 and 4": [("a", [], 180, 300, 20), ("b", ["--weight", "4"], 180, 300, 20)],
    "sizes and lengths": [("a", [], 120, 400, 10), ("b", [], 200, 150, 20), ("c", [], 60, 100, 40),
                          ("d", ["--priority", "high"], 180, 60, 20)],
}


def run_scene(build: pathlib.Path, programs: list) -> tuple[float, dict]:
    """Returns when the last program ended, and the trace."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "REVEZA_SOCKET": f"{folder}/revezad.sock", "REVEZA_CONFIG": "/dev/null",
                       "REVEZA_USAGE_FILE": "off", "LD_LIBRARY_PATH": str(build / "lib/fakecuda"),
                       "FAKECUDA_DIR": f"{folder}/card", "FAKECUDA_MEMORY": "256MiB",
                       "FAKECUDA_LINK": "1GB", "FAKECUDA_CONTEXT": "2MiB"}
        daemon = subprocess.Popen([build / "bin/revezad", "--context-estimate", "2MiB", "--slice-floor", "200ms"],
                                  env=environment, stderr=subprocess.DEVNULL)
        while not os.path.exists(f"{folder}/revezad.sock"):
            time.sleep(0.01)
        running = [subprocess.Popen([build / "bin/reveza", "run", "--quiet", "--name", name, *options, "--",
                                     build / "tests/clients/worker", "--bytes", f"{size}MiB", "--steps", str(steps),
                                     "--step-ms", str(step)], env=environment, stdout=subprocess.DEVNULL)
                   for name, options, size, steps, step in programs]
        if any(one.wait() != 0 for one in running):
            sys.exit("a program failed")
        subprocess.run([build / "bin/reveza", "trace", f"{folder}/trace.json"], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        daemon.terminate()
        daemon.wait()
        trace = json.loads(pathlib.Path(f"{folder}/trace.json").read_text())
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        first = min(span["ts"] for span in spans)
        return max(span["ts"] + span["dur"] - first for span in spans) / 1e6, trace


def simulate(build: pathlib.Path, trace: dict) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(trace, file)
        file.flush()
        run = subprocess.run([build / "bin/reveza", "simulate", "--json", file.name], check=True,
                             capture_output=True, text=True)
    return json.loads(run.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--log", type=pathlib.Path)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    version = subprocess.run([build / "bin/reveza", "--version"], check=True, capture_output=True, text=True).stdout
    lines = [*version.strip().splitlines(), f"bench/simulate.py --runs {arguments.runs}",
             f"{'scene':<20} {'real s':>8} {'simulated s':>12} {'error':>8} {'moved':>10} {'simulated':>10}"]
    for name, programs in SCENES.items():
        for _ in range(arguments.runs):
            real, trace = run_scene(build, programs)
            predicted = simulate(build, trace)
            moved = sum(event.get("args", {}).get("bytes", 0) for event in trace["traceEvents"]
                        if event["name"].startswith("copy"))
            lines.append(f"{name:<20} {real:>8.2f} {predicted['makespan_s']:>12.2f} "
                         f"{predicted['makespan_s'] / real - 1:>+8.1%} {moved / 2**20:>7.0f}MiB "
                         f"{predicted['bytes_moved'] / 2**20:>7.0f}MiB")
            print(lines[-1], flush=True)
    if arguments.log:
        arguments.log.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
