#!/usr/bin/env python3
"""Compares `phi measure --oinfo` with hoi on all subsets of 12 and 20 variables, on one core.

  PYTHON bench/phi_oinfo.py [BUILD] [VARIABLES...]        after ninja phi

PYTHON is that of an environment with the wheels of tools/requirements-peers.txt. Both process the
same 1000 rows alternately. hoi computes o; phi o, s, tc and dtc and the summary by order. phi's time
is that of the process, with reading of the file; hoi's that of fit(), which compiles its functions
each time. Times are CPU times. Both must find the same values.
"""

import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

os.environ.update({"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu",
                   "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import hoi  # noqa: E402
import numpy  # noqa: E402

ROWS, TURNS, LONG = 1000, 3, 60.0


def rows_of(variables):
    draw = numpy.random.default_rng(variables)
    mixing = numpy.eye(variables) + 0.3 * draw.normal(size=(variables, variables))
    rows = draw.normal(size=(ROWS, variables)) @ mixing
    return rows - rows.mean(axis=0)


def by_hoi(rows):
    begin = time.process_time()
    found = hoi.metrics.Oinfo(rows, verbose=False).fit(minsize=2, maxsize=rows.shape[1],
                                                       method="gauss")[:, 0]
    return time.process_time() - begin, found * math.log(2)


def by_phi(build, file):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = json.loads(subprocess.check_output([build / "bin/phi", "measure", file, "--oinfo",
                                                 "gauss", "--json"]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, answer


def compare(build, folder, variables):
    rows = rows_of(variables)
    file = pathlib.Path(folder) / "rows.npy"
    numpy.save(file, rows)
    subsets = 2**variables - variables - 1
    for _ in range(TURNS):
        cpu, answer = by_phi(build, file)
        print(f"{variables} variables, {subsets} subsets: phi {cpu * 1e3:.0f} ms "
              f"({subsets / cpu / 1e6:.2f} million subsets per second)", end="", flush=True)
        other, values = by_hoi(rows)
        assert len(values) == subsets
        lowest = min(row["lowest"]["o"]["nats"] for row in answer["orders"])
        assert abs(values.min() - lowest) < 1e-4 * max(1.0, abs(lowest)), (values.min(), lowest)
        print(f", hoi {hoi.__version__} {other:.2f} s: {other / cpu:.0f} times", flush=True)
        if other > LONG:
            break


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    with tempfile.TemporaryDirectory() as folder:
        for variables in [int(text) for text in sys.argv[2:]] or [12, 20]:
            compare(build, folder, variables)


if __name__ == "__main__":
    main()
