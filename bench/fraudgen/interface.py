"""Measures two ways by which a program in Python gets the rows of a shard: Arrow's C stream interface in its own
process, and the program's Arrow stream through a pipe. Pairs are interleaved; prints all of them.

  interface.py --build BUILD [--rows N] [--rounds N]

Run by the interpreter that has pyarrow. Processor time includes that of the program behind the pipe, and is the figure
to compare on a machine that does other things too.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time


def processor() -> float:
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def read(batches) -> tuple[int, int]:
    """Returns rows and bytes of batches, each of which is dropped before the next one is made."""
    rows = size = 0
    for batch in batches:
        rows += batch.num_rows
        size += batch.nbytes
    return rows, size


class Ways:
    def __init__(self, options: argparse.Namespace) -> None:
        self.build = pathlib.Path(options.build).resolve()
        sys.path.insert(0, str(self.build / "lib/python"))
        self.rows = options.rows

    def c_stream(self, model: str) -> tuple[int, int]:
        import fraudgen  # pylint: disable=import-outside-toplevel
        return read(fraudgen.generate(rows=self.rows, model=model))

    def pipe(self, model: str, compression: str) -> tuple[int, int]:
        import pyarrow.ipc  # pylint: disable=import-outside-toplevel
        command = [self.build / "bin/fraudgen", "--shard", "1/1", "-o", "-", "-f", "arrow", "--threads", "1", "--quiet",
                   "--rows", str(self.rows), "--model", model, "--compression", compression]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
            with pyarrow.ipc.open_stream(program.stdout) as stream:
                found = read(stream)
            program.stdout.read()
        if program.returncode != 0:
            raise SystemExit(f"{command} exited with {program.returncode}")
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ways = Ways(options)
    version = subprocess.run([ways.build / "bin/fraudgen", "version"], capture_output=True, text=True, check=True).stdout
    print(" ".join(sys.argv))
    print(version.split("\n")[0], f"; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning")
    print(f"{'model':9} {'way':12} {'round':>5} {'wall s':>8} {'cpu s':>8} {'k rows/cpu s':>13}")
    for model in ("coherent", "classic"):
        spent: dict[str, list[float]] = {}
        for number in range(options.rounds):
            for way, get in (("C stream", lambda: ways.c_stream(model)),
                             ("pipe, plain", lambda: ways.pipe(model, "none")),
                             ("pipe, zstd", lambda: ways.pipe(model, "zstd"))):
                began, used = time.monotonic(), processor()
                rows, _ = get()
                seconds, used = time.monotonic() - began, processor() - used
                assert rows == options.rows, rows
                spent.setdefault(way, []).append(used)
                print(f"{model:9} {way:12} {number:5} {seconds:8.2f} {used:8.2f} {rows / used / 1000:13.0f}", flush=True)
        base = statistics.median(spent["C stream"])
        for way, used in spent.items():
            ratios = sorted(each / first for each, first in zip(used, spent["C stream"]))
            print(f"{model:9} {way:12} median {statistics.median(used):.2f} cpu s, {statistics.median(used) / base:.3f} "
                  f"of the C stream; pairs {ratios[0]:.3f} to {ratios[-1]:.3f}", flush=True)
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
