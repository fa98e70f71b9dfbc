#!/usr/bin/env python3
"""Compares phi with NumPy on minimum information partitions of 16 and 20 variables, on one core.

  build/python/bin/python3 bench/phi_measures.py [BUILD]      after ninja phi_measures_benchmark phi

NumPy computes determinants in batches of all subsets of one size. Both process the same windows and
must find the same partitions. Of 24 variables, and of Queyranne's algorithm, phi alone is timed.
"""

import itertools
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy  # noqa: E402

VARIABLES, ROWS, STEP, WINDOWS, TURNS = 16, 500, 1, 1000, 3


def subsets_of(variables):
    """Returns the subsets of each size, some at a time: members, and masks."""
    found = []
    for size in range(1, variables + 1):
        members = numpy.array(list(itertools.combinations(range(variables), size)))
        found += [(some, (1 << some).sum(axis=1)) for some in numpy.array_split(members, -(-len(members) // 20000))]
    return found


def subset_determinants(matrix, group, subsets):
    """Returns the log-determinants of all subsets of variables, indexed by bit mask."""
    result = numpy.zeros(1 << (len(matrix) // group))
    for members, masks in subsets:
        rows = (members[:, :, None] * group + numpy.arange(group)).reshape(len(members), -1)
        blocks = matrix[rows[:, :, None], rows[:, None, :]]
        result[masks] = numpy.linalg.slogdet(blocks)[1]
    return result


def minimum_by_numpy(window, subsets):
    past, present = window[:-1], window[1:]
    joint = numpy.stack([past, present], axis=2).reshape(len(past), -1)
    covariance = numpy.cov(joint.T, bias=True)
    both = subset_determinants(covariance, 2, subsets)
    alone = subset_determinants(covariance[::2, ::2], 1, subsets)
    own = 0.5 * (both - alone)
    half = 1 << (window.shape[1] - 1)
    masks = numpy.arange(1, half)
    values = own[masks] + own[2 * half - 1 - masks] - own[2 * half - 1]
    best = int(numpy.argmin(values))
    return values[best], int(masks[best])


def random_system(rows, variables, seed):
    draw = numpy.random.default_rng(seed)
    coupling = draw.normal(size=(variables, variables))
    coupling *= 0.7 / abs(numpy.linalg.eigvals(coupling)).max()
    series = numpy.zeros((rows, variables))
    for t in range(1, rows):
        series[t] = coupling @ series[t - 1] + draw.normal(size=variables)
    return series


def search(build, file, measure, method, threads=1):
    """Returns the CPU time of a search as a process, and what it found."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.check_output([build / "bin/phi", "measure", file, "-m", measure, "--mip", method,
                                      "--threads", str(threads), "--json"])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(answer)["measures"][0]


def time_queyranne(build, folder, variables):
    """Prints the CPU time of the search of random systems by Queyranne's algorithm."""
    file = pathlib.Path(folder) / "many.npy"
    numpy.save(file, random_system(20 * variables, variables, variables))
    for measure in ("mi", "si", "wms"):
        seconds, found = search(build, file, measure, "queyranne")
        by_two, same = search(build, file, measure, "queyranne", 2)
        assert found == same, (found, same)
        print(f"{measure}, queyranne, {variables} variables, {20 * variables} rows: CPU {seconds:.2f} s, "
              f"with two threads {by_two:.2f} s", flush=True)


def time_exhaustive(build, folder, variables, compare):
    """Prints the CPU time of one exhaustive search, with NumPy's beside it if there is time for it."""
    import phi  # pylint: disable=import-outside-toplevel  # of the build that is measured
    file = pathlib.Path(folder) / "wide.npy"
    series = random_system(ROWS, variables, variables)
    numpy.save(file, series)
    process = min(search(build, file, "si", "exhaustive")[0] for _ in range(TURNS))
    call = math.inf
    for _ in range(2 * TURNS):
        begin = time.process_time()
        found = phi.mip(series, "si", threads=1)
        call = min(call, time.process_time() - begin)
    text = f"si, exhaustive, {variables} variables, {ROWS} rows: phi {process:.3f} s as a process, phi.mip {call:.4f} s"
    if compare:
        subsets = subsets_of(variables)
        begin = time.process_time()
        value, _ = minimum_by_numpy(series, subsets)
        theirs = time.process_time() - begin
        assert abs(found.nats - value) < 1e-9, (found, value)
        text += f", NumPy {theirs:.2f} s: {theirs / process:.0f} and {theirs / call:.0f} times"
    print(text + " (CPU)", flush=True)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    sys.path.insert(0, str(build.resolve() / "lib/python"))
    rows = random_system(ROWS + STEP * (WINDOWS - 1), VARIABLES, 1)
    subsets = subsets_of(VARIABLES)
    subprocess.run([build / "bench/phi_measures_benchmark", "--benchmark_min_time=0.5"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for variables in (50, 100, 200):
            time_queyranne(build, folder, variables)
        for variables in (16, 20, 24):
            time_exhaustive(build, folder, variables, variables < 24)
        file = pathlib.Path(folder) / "rows.npy"
        numpy.save(file, rows)
        for turn in range(TURNS):
            start = time.perf_counter()
            answer = json.loads(subprocess.check_output(
                [build / "bin/phi", "measure", file, "-m", "si", "--mip", "exhaustive",
                 "--window", str(ROWS), "--step", str(STEP), "--threads", "1", "--json"]))
            ours = (time.perf_counter() - start) / WINDOWS
            some = range(turn, WINDOWS, WINDOWS // 4)
            start = time.perf_counter()
            found = [minimum_by_numpy(rows[i * STEP:i * STEP + ROWS], subsets) for i in some]
            theirs = (time.perf_counter() - start) / len(found)
            for i, (value, mask) in zip(some, found):
                row = answer["windows"][i]["measures"][0]
                part = row["partition"].split("|")
                bits = {sum(1 << int(v) for v in p.split(",")) for p in part}
                assert abs(row["nats"] - value) < 1e-9 and mask in bits, (i, row, value, mask)
            print(f"si, exhaustive, {VARIABLES} variables, {ROWS} rows: phi {ours * 1e3:.3f} ms per "
                  f"window ({WINDOWS} windows, including input and output), NumPy "
                  f"{theirs * 1e3:.0f} ms per window ({len(found)} windows): {theirs / ours:.0f} times")


if __name__ == "__main__":
    main()
