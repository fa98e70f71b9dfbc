#!/usr/bin/env python3
"""Compares `phi te` with NumPy on the same series, and checks that both agree.

  bench/phi_te.py [--phi build/bin/phi] [--rows 1000000] [--columns 8] [--rounds 3]

Times are CPU times of one core, from the .npy file: of `phi te` as a new process, and of NumPy, with
quantile bins and bincount, in a process that has started; in brackets without the kernel's part, which
gives them memory. Needs NumPy.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINS = 4


def entropy(counts):
    counts = counts[counts > 0]
    share = counts / counts.sum()
    return -(share * numpy.log(share)).sum()


def entropies(y, x):
    joint = numpy.bincount((y[:-1] * BINS + y[1:]) * BINS + x[:-1], minlength=BINS ** 3)
    cells = joint.reshape(BINS, BINS, BINS)  # past, present, source
    return (entropy(cells.sum(2).ravel()) - entropy(cells.sum((1, 2))) - entropy(joint)
            + entropy(cells.sum(1).ravel()))


def by_numpy(rows, surrogates):
    symbols = []
    for column in rows.T:
        ordered = numpy.sort(column)
        bounds = ordered[[len(ordered) * k // BINS for k in range(1, BINS)]]
        symbols.append(numpy.searchsorted(bounds, column, side="right"))
    found = {}
    for source, x in enumerate(symbols):
        for target, y in enumerate(symbols):
            if source == target:
                continue
            for number in range(surrogates):
                moved = numpy.roll(x, 1000 + number)
                entropies(y, moved)
            found[source, target] = entropies(y, x)
    return found


def seconds(before, after):
    """Returns the processor time between two resource usages, and that of them outside of the kernel."""
    user = after.ru_utime - before.ru_utime
    return user + after.ru_stime - before.ru_stime, user


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--phi", default=str(ROOT / "build/bin/phi"))
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    rows = numpy.random.default_rng(1).normal(size=(given.rows, given.columns))
    rows[1:, 1:] += 0.5 * rows[:-1, :-1]
    with tempfile.TemporaryDirectory(prefix="phi-te-") as folder:
        path = pathlib.Path(folder) / "rows.npy"
        numpy.save(path, rows)
        for surrogates in [0] * given.rounds + [9] * given.rounds:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([given.phi, "te", path, "--bins", str(BINS), "--threads", "1",
                                   "--surrogates", str(surrogates), "--json"], capture_output=True, text=True, check=True)
            ours = seconds(before, resource.getrusage(resource.RUSAGE_CHILDREN))
            before = resource.getrusage(resource.RUSAGE_SELF)
            expected = by_numpy(numpy.load(path), surrogates)
            theirs = seconds(before, resource.getrusage(resource.RUSAGE_SELF))
            for pair in json.loads(done.stdout)["pairs"]:
                value = expected[int(pair["from"]), int(pair["to"])]
                assert abs(pair["plug_in"] - value) < 1e-10, (pair, value)
            print(f"{given.rows} rows, {given.columns} columns, {len(expected)} pairs, {surrogates} surrogates: "
                  f"phi te {ours[0]:.2f} s ({ours[1]:.2f}), NumPy {theirs[0]:.2f} s ({theirs[1]:.2f}), "
                  f"{theirs[0] / ours[0]:.1f} times ({theirs[1] / ours[1]:.1f})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
