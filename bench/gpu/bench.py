#!/usr/bin/env python3
"""Runs sections of the GPU bench, writes logs and results.json, prints a table.

Called by bench/gpu.sh, which documents sections and options.
"""

import argparse
import glob
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
import traceback

import handover_section
import idle_section
import larger_section
import long_section
import more_sections
import multi_gpu_section
import policy_section
import random_section
import sections
from harness import Harness

SECTIONS = {
    "correctness": sections.correctness,
    "overhead": sections.overhead,
    "handover": handover_section.handover,
    "idle": idle_section.idle,
    "larger": larger_section.larger,
    "policy": policy_section.policy,
    "oversubscribe": sections.oversubscribe,
    "faults": more_sections.faults,
    "compare": more_sections.compare,
    "seed_case": more_sections.seed_case,
    "multi_gpu": multi_gpu_section.multi_gpu,
    "long": long_section.long,
    "random": random_section.random_programs,
}
# A run writes at most eight files, so these sections share the log of another.
LOG_OF = {"multi_gpu": "correctness", "idle": "faults", "larger": "faults", "policy": "overhead",
          "random": "correctness", "long": "faults"}


def query(*fields):
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
            capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]


def machine(fake):
    """Returns the driver and a list of (device name, MiB)."""
    if fake:
        return "fakecuda", [("fakecuda", 256)] * int(os.environ.get("FAKECUDA_DEVICES", "1"))
    rows = query("name", "memory.total", "driver_version")
    if not rows:
        sys.exit("bench: nvidia-smi lists no GPU (use --fake to test the script without one)")
    return f"driver {rows[0][2]}", [(row[0], int(row[1])) for row in rows]


def built_from(build):
    """Returns what the programs say of their commit and build; several lines if they differ."""
    said = {}
    for program in ("reveza", "revezad"):
        try:
            done = subprocess.run([os.path.join(build, "bin", program), "--version"], timeout=30,
                                  capture_output=True, text=True, check=True)
            text = "; ".join(done.stdout.strip().splitlines()[1:])
        except (OSError, subprocess.SubprocessError):
            text = ""
        said.setdefault(text or "commit unknown", []).append(program)
    return [f"{' and '.join(programs)}: {text}" for text, programs in said.items()]


def frameworks():
    """Returns the versions of the frameworks whose programs are run."""
    found = []
    for name in ("torch", "triton", "jax", "jaxlib", "cupy-cuda12x", "cupy-cuda13x", "cupy"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found) or "none"


def run_section(harness, name, folder, header):
    report = sections.Report(name)
    path = os.path.join(folder, f"{LOG_OF.get(name, name)}.log")
    begin = time.time()
    with open(path, "a", encoding="utf-8") as log:
        harness.log_file = log
        for line in header:
            harness.log(line)
        harness.log(f"section {name}")
        try:
            if harness.remaining_seconds() < 20:
                report.check("section", "not run: time limit reached", False, "run")
            else:
                SECTIONS[name](harness, report)
        except Exception:  # an error in one section must not hide the others
            report.check("section", "failed with an exception", False, "completes")
            harness.log(traceback.format_exc())
        finally:
            harness.close()
        harness.log(f"section {name} took {time.time() - begin:.1f} s")
        for line in table([report]):
            harness.log(line)
        harness.log_file = None
    return report, time.time() - begin


def table(reports):
    rows = [("section", "what", "value", "wanted", "")]
    for report in reports:
        for what, value, limit, ok in report.rows:
            mark = "" if ok is None else ("ok" if ok else "NOT OK")
            rows.append((report.name, str(what), str(value), str(limit or ""), mark))
    widths = [min(60, max(len(row[i]) for row in rows)) for i in range(5)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in rows]


def parse(argv):
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sections", nargs="+", choices=[*SECTIONS, "all"])
    options.add_argument("--build", required=True, help="build tree with bin, lib and tests")
    options.add_argument("--out", required=True, help="directory for logs and results.json")
    options.add_argument("--work", required=True, help="directory for temporary files")
    options.add_argument("--fake", action="store_true", help="run on fakecuda, to test the script")
    options.add_argument("--scale", type=float, help="factor for the steps of every program")
    options.add_argument("--rounds", type=int, default=1, help="runs of every row; all are shown")
    options.add_argument("--only", default="", help="only cases whose name contains this")
    options.add_argument("--seed", type=int, default=1, help="of the first random program")
    options.add_argument("--limit", type=float, default=570, help="time limit of the run in seconds")
    return options.parse_args(argv)


def main(argv):
    options = parse(argv)
    everything = "all" in options.sections
    # The long one takes all the time that is left.
    chosen = ([name for name in SECTIONS if name != "long"] if everything else options.sections)
    scale = options.scale or (0.3 if everything else 1.0)
    driver, gpus = machine(options.fake)
    words = [*options.sections, *(["--fake"] if options.fake else []), f"--scale {scale:g}",
             f"--rounds {options.rounds}", *([f"--only '{options.only}'"] if options.only else []),
             *([f"--seed {options.seed}"] if options.seed != 1 else [])]
    header = [f"command: bench/gpu.sh {' '.join(words)}",
              f"device: {', '.join(name for name, _ in gpus)}; {driver}",
              *built_from(options.build), f"begun: {time.strftime('%Y-%m-%d %H:%M:%S %Z')}",
              f"frameworks: {frameworks()}"]
    os.makedirs(options.out, exist_ok=True)
    for old in glob.glob(os.path.join(options.out, "*.log")):
        os.remove(old)
    harness = Harness(os.path.abspath(options.build), os.path.abspath(options.work),
                      options.fake, time.time() + options.limit, scale)
    harness.rounds, harness.only, harness.seed = options.rounds, options.only, options.seed
    harness.gpus, harness.gpu_gib = len(gpus), gpus[0][1] / 1024
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    reports, seconds = [], {}
    try:
        for name in chosen:
            report, seconds[name] = run_section(harness, name, options.out, header)
            reports.append(report)
    finally:
        harness.close()
        results = {
            "header": header, "device": gpus[0][0], "gpus": len(gpus), "driver": driver,
            "scale": scale, "seconds": seconds,
            "sections": {r.name: {"rows": r.rows, "data": r.data} for r in reports},
        }
        with open(os.path.join(options.out, "results.json"), "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    print("\n" + "\n".join(header + table(reports)))
    bad = sum(ok is False for report in reports for _, _, _, ok in report.rows)
    print(f"\n{bad} checks failed; logs in {options.out}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
