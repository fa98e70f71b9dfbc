"""Shared by the tests of fraudgen.bench: made-up data and their mapping."""

import csv
import importlib.util
import pathlib
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
NEEDED = ("duckdb", "lightgbm", "numpy", "sklearn")
if any(importlib.util.find_spec(name) is None for name in NEEDED):
    print(f"skipped: needs {', '.join(NEEDED)}")
    sys.exit(77)
sys.path.insert(0, str(BUILD / "lib/python"))

# pylint: disable=wrong-import-position
import numpy

from fraudgen.bench import Options, data

RANDOM = numpy.random.default_rng(5)
MINIMAL = """
[tables]
log = "log"
[columns]
time = "moment::TIMESTAMP"
label = "fraud = 1"
customer = "who"
receiver = "whom"
amount = "amount"
[shared]
device = "device"
"""


def write(path, head, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        (self.place / "mine.toml").write_text(MINIMAL)
        self.mine = str(self.place / "mine.toml")

    def opened(self, where="data", name=None, **options):
        place = str(self.place / where)
        manager = data.open_data(place, data.choose_mapping(place, name or self.mine), Options(**options))
        opened = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return opened

    def write_log(self, rows, where="data", head=("moment", "who", "whom", "device", "amount", "fraud")):
        write(self.place / where / "log.csv", head, rows)

    def random_rows(self, count, frauds=0.1, random=RANDOM):
        """Rows of which nothing says anything."""
        for place in range(count):
            yield [f"2025-01-{1 + place * 28 // count:02} {random.integers(24):02}:{random.integers(60):02}:00",
                   f"c{random.integers(60)}", f"r{random.integers(40)}", f"d{random.integers(50)}",
                   round(float(random.uniform(1, 100)), 2), int(random.random() < frauds)]
