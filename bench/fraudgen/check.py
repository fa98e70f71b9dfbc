"""Measures the processor seconds of `fraudgen check` beside those of generating the same data.

  check.py [--program build/bin/fraudgen] [--rows N] [--rounds N] [--folder DIR]

Generates each data set with one thread, checks it, and writes a line for each round. The rounds of
generating and checking alternate, because the speed of a shared machine changes within minutes.
"""

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

KINDS = {"parquet": ("--format", "parquet"), "jsonl": ("--format", "jsonl"),
         "csv.zst": ("--format", "csv", "--compression", "zstd"),
         "classic parquet": ("--format", "parquet", "--model", "classic")}


def processor_seconds(*command: object) -> float:
    """Runs a command until it exits with 0."""
    child = subprocess.Popen([*map(str, command)])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {child.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/fraudgen")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the data is written, and removed")
    options = parser.parse_args()
    print("$", " ".join(["bench/fraudgen/check.py", *sys.argv[1:]]))
    print(subprocess.run([options.program, "--version"], capture_output=True, text=True,
                         check=True).stdout.strip())
    print(platform.machine(), os.cpu_count(), "processors\n")
    print(f"{'data':16} {'generate, cpu s':>16} {'check, cpu s':>13} {'check / generate':>17}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, arguments in KINDS.items():
            ratios = []
            for each in range(options.rounds):
                data = pathlib.Path(folder, f"{name.replace(' ', '-')}-{each}")
                generate = processor_seconds(options.program, "--rows", options.rows, "--threads", 1,
                                             "--quiet", "--output", data, *arguments)
                check = processor_seconds(options.program, "check", data, "--threads", 1, "--quiet")
                subprocess.run(["rm", "-r", data], check=True)
                ratios.append(check / generate)
                print(f"{name:16} {generate:16.2f} {check:13.2f} {ratios[-1]:17.2f}", flush=True)
            print(f"{name:16} {'median':>30} {statistics.median(ratios):17.2f}", flush=True)


if __name__ == "__main__":
    main()
