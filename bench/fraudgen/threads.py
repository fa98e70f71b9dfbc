"""Measures the scaling of fraudgen: rows per second and memory with 1, 2, 4, ... threads and a
constant number of rows per thread, compared with as many single-threaded processes.

  threads.py --build BUILD --folder DIR [--most N] [--blocks N] [--rounds N]

DIR should be in memory (/dev/shm). --most is the largest number of threads, --blocks the number of
blocks (of 2,097,152 rows) per thread, by default 2. Each figure is the best of the rounds. Exits
with 1 if threads and processes write different manifests.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from measure import MEGABYTE, ONE_BLOCK, Figure, run_all, size_of

HEAD = (f"{'what':34} {'k rows/s':>9} {'of one':>7} {'of processes':>12} {'cpu us/row':>10} "
        f"{'MB':>6} {'MB/thread':>9}")


class Scaling:
    def __init__(self, options: argparse.Namespace) -> None:
        self.program = str(pathlib.Path(options.build, "bin/fraudgen"))
        self.folder = pathlib.Path(options.folder)
        self.rounds = options.rounds
        self.blocks = options.blocks
        self.wrong = 0

    def once(self, what: str, rows: int, commands: list[list[str]]) -> tuple[Figure, str]:
        target = self.folder / "data"
        shutil.rmtree(target, ignore_errors=True)
        words = ["--rows", str(rows), "--output", str(target)]
        used = run_all([[self.program, "--quiet", *words, *more] for more in commands], None)
        size = size_of(target)
        manifest = hashlib.sha256((target / "_fraudgen/manifest.json").read_bytes()).hexdigest()
        shutil.rmtree(target)
        return Figure(what, rows, size, *used), manifest

    def best(self, *what) -> tuple[Figure, str]:
        return min((self.once(*what) for _ in range(self.rounds)), key=lambda each: each[0].seconds)

    def measure(self, model: str, form: str, counts: list[int]) -> None:
        flags = ["--model", model, "--format", form]
        first = None
        for count in counts:
            rows = self.blocks * ONE_BLOCK * count
            name = f"{model} {form}, {count} thread{'s' if count > 1 else ''}"
            threads, manifest = self.best(name, rows, [[*flags, "--threads", str(count)]])
            first = first or threads
            shards = [[*flags, "--threads", "1", "--shard", f"{i}/{count}"]
                      for i in range(1, count + 1)]
            processes, other = self.best(name, rows, shards) if count > 1 else (threads, manifest)
            rate = rows / threads.seconds
            each = (threads.memory - first.memory) / (count - 1) / MEGABYTE if count > 1 else 0
            print(f"{name:34} {rate / 1000:9,.0f} {rate / (first.rows / first.seconds):7.2f} "
                  f"{processes.seconds / threads.seconds:12.2f} "
                  f"{threads.processor_seconds / rows * 1e6:10.2f} "
                  f"{threads.memory / MEGABYTE:6,.0f} {each:9.0f}", flush=True)
            if manifest != other:
                self.wrong += 1
                print(f"{name}: threads and processes wrote different manifests", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--most", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--forms", default="classic parquet,coherent parquet,coherent jsonl")
    options = parser.parse_args()
    counts = [1 << i for i in range(options.most.bit_length()) if 1 << i <= options.most]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        options.folder = folder
        scaling = Scaling(options)
        version = subprocess.run([scaling.program, "version"], capture_output=True, text=True,
                                 check=True).stdout.split("\n")
        print(f"{', '.join(filter(None, version))}; {os.cpu_count()} processors, "
              f"load {os.getloadavg()[0]:.1f} at the beginning")
        print(f"{options.blocks} blocks of {ONE_BLOCK:,} rows per thread, best of {options.rounds}; "
              "'of processes': speedup over as many single-threaded processes")
        print(HEAD)
        for form in options.forms.split(","):
            scaling.measure(*form.split(), counts)
        print(f"load {os.getloadavg()[0]:.1f} at the end")
    return 1 if scaling.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
