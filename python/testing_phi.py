"""For tests of the package phi: a recording, a network, and the program."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import numpy


def recording(rows=400, variables=4, seed=1):
    """Returns a vector autoregression."""
    numbers = numpy.random.default_rng(seed)
    coupling = 0.4 * numpy.eye(variables) + 0.2 * numpy.eye(variables, k=1)
    series = numpy.zeros((rows, variables))
    for t in range(1, rows):
        series[t] = coupling @ series[t - 1] + numbers.normal(size=variables)
    return series


OR_COPY_XOR = numpy.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 0]],
                          dtype=float)


class Program(unittest.TestCase):
    """Runs the program of a build in a folder with files of series and of a network."""

    build = pathlib.Path()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.series = recording()
        self.trials = numpy.stack([recording(80, 3, seed) for seed in range(6)])
        numpy.save(self.folder / "series.npy", self.series)
        numpy.save(self.folder / "trials.npy", self.trials)
        numpy.save(self.folder / "tpm.npy", OR_COPY_XOR)

    def phi(self, *arguments):
        done = subprocess.run([self.build / "bin/phi", *map(str, arguments)], cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.phi(*arguments, "--json"))
