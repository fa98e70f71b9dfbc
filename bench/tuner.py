#!/usr/bin/env python3
"""Runs four kinds of steps with fixed numbers of workers and tuned, and compares how long jobs take.

    bench/tuner.py [--reveza build/bin/reveza] [--steps 100] [--rounds 2] [--hyperqueue PYTHON] --out FOLDER

Steps compute, mostly wait, hold a lock for half of their work, or are of two kinds
(bench/tuner_step.py). GNU parallel runs them too, if it is installed, with its default: as many as
there are cores, which is also what a HyperQueue worker runs if a task asks for nothing. That one runs
them if PYTHON, a Python with the package hyperqueue, is given. Prints every run, and writes results.json, of which tools/draw_tuner.py draws a picture.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

STEP = pathlib.Path(__file__).resolve().parent / "tuner_step.py"
FIXED = {
    "CPU": [1, 2, 3, 4, 8],
    "waiting": [2, 8, 16, 32, 64, 100],
    "lock": [1, 2, 3, 4, 8],
    "mixed": [2, 4, 8, 16, 32],
}


def run_reveza(reveza, kind, steps, workers, folder):
    """Returns the seconds, and the text about the tuning."""
    command = [reveza, "jobs", "run", "--name", "job", "--folder", folder, "--limits", "none"]
    if workers:
        command += ["--workers", str(workers)]
    command += ["--", sys.executable, STEP, kind, "{n}", ":::", "n", f"1..{steps}"]
    with tempfile.TemporaryDirectory() as state:
        begin = time.monotonic()
        ended = subprocess.run(command, env={**os.environ, "XDG_STATE_HOME": state},
                               capture_output=True, text=True, check=True)
        return time.monotonic() - begin, ended.stdout + ended.stderr


def run_parallel(kind, steps, folder):
    command = ["parallel", "--will-cite", sys.executable, STEP, kind, ":::",
               *map(str, range(1, steps + 1))]
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return time.monotonic() - begin


def run_hyperqueue(python, kind, steps, folder):
    command = [python, STEP.parent / "jobs_hyperqueue.py", str(steps), str(len(os.sched_getaffinity(0))),
               sys.executable, STEP, kind]
    # Its progress bars go to standard error.
    return float(subprocess.check_output(command, cwd=folder, text=True, stderr=subprocess.DEVNULL).split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--reveza", default="build/bin/reveza")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--hyperqueue", metavar="PYTHON")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    reveza = str(pathlib.Path(options.reveza).resolve())
    options.out.mkdir(parents=True, exist_ok=True)
    print("command: bench/tuner.py", *sys.argv[1:])
    print(subprocess.check_output([reveza, "--version"], text=True).strip())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, fixed in FIXED.items():
            for _ in range(options.rounds):
                for workers in [*fixed, None]:
                    load = os.getloadavg()[0]
                    seconds, text = run_reveza(reveza, kind, options.steps, workers, folder)
                    name = workers or "tuned"
                    rows.append({"kind": kind, "workers": name, "seconds": seconds, "load": load})
                    print(f"{kind}: {name}: {seconds:.2f} s, load before {load:.1f}", flush=True)
                    if not workers:
                        print(text)
                if shutil.which("parallel"):
                    seconds = run_parallel(kind, options.steps, folder)
                    rows.append({"kind": kind, "workers": "parallel", "seconds": seconds})
                    print(f"{kind}: GNU parallel: {seconds:.2f} s", flush=True)
                if options.hyperqueue:
                    seconds = run_hyperqueue(options.hyperqueue, kind, options.steps, folder)
                    rows.append({"kind": kind, "workers": "HyperQueue", "seconds": seconds})
                    print(f"{kind}: HyperQueue: {seconds:.2f} s", flush=True)
            best = {}
            for row in rows:
                if row["kind"] == kind:
                    name = row["workers"]
                    best[name] = min(best.get(name, row["seconds"]), row["seconds"])
            least = min(best[workers] for workers in fixed)
            print(f"{kind}: the shortest runs: tuned {best['tuned']:.2f} s, best fixed {least:.2f} s, "
                  f"{best['tuned'] / least - 1:+.1%}")
    result = {"cores": len(os.sched_getaffinity(0)), "steps": options.steps, "rows": rows}
    (options.out / "results.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
