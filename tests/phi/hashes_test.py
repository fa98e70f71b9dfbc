#!/usr/bin/env python3
"""Checks that `phi run` produces identical rows however it is executed.

  hashes_test.py PHI [--cycles 500] [--runs 256] [--dimension 768] [--kills 10] [--kernels]
                     [--output FILE]

The reference is one batch on one thread without interruptions. It is repeated on two threads; with
--kernels, with each narrower instruction set of the processor; killed with SIGKILL --kills times, each
time after a further checkpoint, and resumed on one and two threads in turn; and in batches of 7 and 1.
Every row (state hash, means, norms, measures) must be identical as text. The result does not depend on
timing.
"""

import argparse
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ENDLESS = 10 ** 9
TIMEOUT = 500  # seconds to wait for a checkpoint


class Different(Exception):
    """Describes a difference."""


class Check:
    def __init__(self, given: argparse.Namespace, folder: pathlib.Path):
        self.given = given
        self.folder = folder
        self.phi = os.path.abspath(given.phi)
        self.cycles = given.cycles

    def command(self, output: str, cycles: int, runs: int, first: int, *more: str) -> list[str]:
        return [self.phi, "run", "--cycles", str(cycles), "--runs", str(runs), "--first-run",
                str(first), "--dimension", str(self.given.dimension), "--feedback", "0.5",
                "--measure", "phi_legacy,si", "--quiet", "--output", str(self.folder / output), *more]

    def rows(self, output: str) -> list[str]:
        """The rows without the header line, sorted by run and cycle."""
        with open(self.folder / output / "rows.csv", encoding="ascii") as file:
            heading = next(file)
            rows = file.read().splitlines()
        if not heading.startswith("run,cycle,hash,"):
            raise Different(f"{output}: unexpected header {heading!r}")
        return sorted(rows, key=lambda row: tuple(map(int, row.split(",", 2)[:2])))

    def run(self, output: str, runs: int, first: int, *more: str) -> list[str]:
        subprocess.run(self.command(output, self.cycles, runs, first, *more), check=True)
        return self.rows(output)

    def in_batches(self, batch: int) -> list[str]:
        rows = []
        for first in range(0, self.given.runs, batch):
            runs = min(batch, self.given.runs - first)
            rows += self.run(f"batch-{batch}-{first}", runs, first, "--threads", "1")
        return rows

    def cycle(self, output: str) -> int:
        """The cycle of the checkpoint; -1 if there is none."""
        try:
            checkpoint = (self.folder / output / "checkpoint").read_bytes()
        except FileNotFoundError:
            return -1
        begin = len(b"reveza phi checkpoint 1\n")
        length = int.from_bytes(checkpoint[begin:begin + 8], "little")
        return json.loads(checkpoint[begin + 8:begin + 8 + length])["cycle"]

    def kill(self) -> list[int]:
        """Starts endless runs and kills them; returns the cycles of the remaining checkpoints."""
        given, cycles = self.given, []
        for kill in range(given.kills):
            # Kill only after further progress.
            until = given.cycles * (kill + 1) // (given.kills + 2)
            process = subprocess.Popen(self.command(
                "killed", ENDLESS, given.runs, 0, *self.killed_options(), "--threads",
                str(1 + kill % 2)))
            try:
                end = time.monotonic() + TIMEOUT
                while self.cycle("killed") < until:
                    if process.poll() is not None or time.monotonic() > end:
                        raise Different(f"no checkpoint at cycle {until}")
                    time.sleep(0.002)
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
            cycles.append(self.cycle("killed"))
        # The process may have advanced further before the signal arrived.
        self.cycles = max(given.cycles, cycles[-1])
        return cycles

    def killed_options(self) -> tuple[str, str]:
        return "--checkpoint-every", str(max(1, self.given.cycles // (2 * self.given.kills + 2)))


def sum_of(rows: list[str]) -> str:
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def narrower(phi: str) -> list[str]:
    """The instruction sets below the best of this processor."""
    names = ["plain", "avx2", "avx512"]
    tiny = [phi, "run", "--cycles", "1", "-d", "1", "--measure", "none", "--quiet", "--kernel"]
    here = [name for name in names
            if subprocess.run([*tiny, name], capture_output=True, check=False).returncode == 0]
    return here[:-1]


def check(given: argparse.Namespace, folder: pathlib.Path, say) -> None:
    made = Check(given, folder)
    kills = made.kill()
    right = made.run("right", given.runs, 0, "--threads", "1")
    if len(right) != given.runs * made.cycles:
        raise Different(f"{len(right)} rows instead of {given.runs * made.cycles}")
    say(f"{given.runs} runs of {made.cycles} cycles, dimension {given.dimension}; rows are compared as "
        "text; the first digits of their SHA-256")
    engine = json.loads((folder / "right/summary.json").read_text())["engine"]
    say(f"{'one batch, one thread, ' + engine:<40} {len(right):>8} rows  {sum_of(right)}")

    def compare(name: str, rows: list[str]) -> None:
        say(f"{name:<40} {len(rows):>8} rows  {sum_of(rows)}")
        if rows != right:
            where = next((i for i, (a, b) in enumerate(zip(rows, right)) if a != b), len(right))
            raise Different(f"{name}: row {where} differs")

    compare("two threads", made.run("two", given.runs, 0, "--threads", "2"))
    for kernel in narrower(made.phi) if given.kernels else []:
        compare(f"two threads, {kernel}",
                made.run(kernel, given.runs, 0, "--threads", "2", "--kernel", kernel))
    compare(f"killed with -9 {len(kills)} times, resumed",
            made.run("killed", given.runs, 0, *made.killed_options()))
    say(f"  with checkpoints at cycles {', '.join(map(str, kills))}")
    for batch in (7, 1):
        compare(f"{-(-given.runs // batch)} batches of {batch}", made.in_batches(batch))
    say("all identical")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("phi")
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--runs", type=int, default=256)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--output", help="also write the report to this file")
    given = parser.parse_args(arguments)
    lines = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line + "\n")

    try:
        with tempfile.TemporaryDirectory(prefix="phi-hashes-") as folder:
            check(given, pathlib.Path(folder), say)
    except Different as different:
        print(f"rows differ: {different}", file=sys.stderr)
        return 1
    if given.output:
        pathlib.Path(given.output).write_text("".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
