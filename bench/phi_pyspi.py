#!/usr/bin/env python3
"""Compares the SPI of phi for pyspi with pyspi's own, in values and time.

  bench/phi_pyspi.py [--build build] [--rows 1000] [--processes 8] [--rounds 3]

Needs an environment of the wheels of tools/requirements-pyspi.txt, and the Python module of the build for its Python.
Times are processor times of one thread, of all pairs of processes, in one process and in turns.
"""

import argparse
import contextlib
import io
import os
import pathlib
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy  # pylint: disable=wrong-import-position
from pyspi.data import Data  # pylint: disable=wrong-import-position
from pyspi.lib.phi_native import phi_comp  # pylint: disable=wrong-import-position


def recording(rows, processes, seed=1):
    """Returns a vector autoregression, processes x observations."""
    numbers = numpy.random.default_rng(seed)
    coupling = 0.4 * numpy.eye(processes) + 0.3 * numpy.eye(processes, k=1)
    series = numpy.zeros((rows, processes))
    for t in range(1, rows):
        series[t] = coupling @ series[t - 1] + numbers.normal(size=processes)
    return series.T


def data_of(series):
    """Returns pyspi's data, which says much when it is made."""
    with contextlib.redirect_stdout(io.StringIO()):
        return Data(data=series, dim_order="ps", normalise=True)


def by_pyspi(data, phitype):
    """Returns what pyspi.statistics.infotheory.IntegratedInformation computes for each pair."""
    series = data.to_numpy(squeeze=True)
    options = {"type_of_phi": phitype, "type_of_dist": "Gauss", "normalization": 0}
    table = numpy.full((len(series), len(series)), numpy.nan)
    for j in range(len(series)):
        for i in range(j):
            table[i, j] = table[j, i] = phi_comp(series[[i, j]], numpy.array([1, 2]), {"tau": 1}, options)
    return table


def by_phi(data, spi):
    table = numpy.full((data.n_processes, data.n_processes), numpy.nan)
    for j in range(data.n_processes):
        for i in range(j):
            table[i, j] = table[j, i] = spi.bivariate(data, i=i, j=j)
    return table


def timed(function, *arguments):
    begin = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - begin


def compare_minima(spi, models=200, rows=2000):
    """Prints how often pyspi ends in a higher minimum: random pairs, of spectral radius .95, noise correlated by .9."""
    numbers = numpy.random.default_rng(3)
    noise = numpy.linalg.cholesky(numpy.array([[1, 0.9], [0.9, 1]]))
    ratios = []
    for _ in range(models):
        coupling = numbers.normal(size=(2, 2))
        coupling *= 0.95 / abs(numpy.linalg.eigvals(coupling)).max()
        series = numpy.zeros((rows, 2))
        steps = numbers.normal(size=(rows, 2)) @ noise.T
        for t in range(1, rows):
            series[t] = coupling @ series[t - 1] + steps[t]
        data = data_of(series.T)
        ratios.append(by_pyspi(data, "Geo")[0, 1] / spi.bivariate(data, i=0, j=1))
    ratios = numpy.array(ratios)
    print(f"Geo of {models} pairs with correlated noise: pyspi higher in {int((ratios > 1 + 1e-5).sum())}, by up to "
          f"{ratios.max():.2f} times, lower in {int((ratios < 1 - 1e-5).sum())}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(pathlib.Path(__file__).resolve().parents[1] / "build"))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    sys.path.insert(0, str(pathlib.Path(given.build) / "lib/python"))
    from phi.pyspi import IntegratedInformation  # pylint: disable=import-outside-toplevel
    data = data_of(recording(given.rows, given.processes))
    pairs = given.processes * (given.processes - 1) // 2
    for phitype in ("star", "Geo"):
        for _ in range(given.rounds):
            theirs, slow = timed(by_pyspi, data, phitype)
            ours, fast = timed(by_phi, data, IntegratedInformation(phitype))
            worst = numpy.nanmax(numpy.abs(ours - theirs))
            print(f"{phitype}: {pairs} pairs of {given.rows} rows: phi {fast:.4f} s, pyspi {slow:.4f} s, "
                  f"{slow / fast:.1f} times; largest difference {worst:.1e} nats, "
                  f"phi lower in {int(numpy.nansum(ours < theirs - 1e-8)) // 2} pairs", flush=True)
    compare_minima(IntegratedInformation("Geo"))


if __name__ == "__main__":
    main()
