"""The miner of `fraudgen bench` finds no rule that gives the frauds of the coherent model away.

  fraudgen_leaks_test.py BUILD

Beside the rules of tests/fraudgen/leaks_test.py it tries features of the graph before each row, and the leaves of
trees of depth 3, for payments and rides of several difficulties and seeds. REVEZA_LONG=1: more of them.
"""

import itertools
import os
import pathlib
import subprocess
import tempfile
import unittest

from testing_bench import BUILD

from fraudgen.bench import Options, data, leaks  # pylint: disable=wrong-import-order
from fraudgen.bench.features import make_features

LONG = os.environ.get("REVEZA_LONG") == "1"
ROWS = 300_000 if LONG else 100_000
KINDS = ("transactions", "rides")
DIFFICULTIES = ("easy", "medium", "hard")
SEEDS = (1, 2, 3, 4) if LONG else (1, 2)


def rules_of(folder: pathlib.Path, *arguments: str) -> list[str]:
    """Generates data and returns the pure rules in them."""
    subprocess.run([BUILD / "bin/fraudgen", "--quiet", "--rows", str(ROWS), "--format", "parquet", "--output", folder,
                    *arguments], check=True)
    place = str(folder)
    with data.open_data(place, data.choose_mapping(place, None), Options(seed=1)) as opened:
        rows = opened.fetch("SELECT label, weight FROM sample ORDER BY place")
        found = leaks.rules(make_features(opened), rows["label"].astype(bool), rows["weight"], 1)
    return [f"{each.rule}: {each.frauds:.0f} of {each.rows:.0f}" for each in found if each.kind == "pure"]


class Leaks(unittest.TestCase):
    def test_no_rule_of_the_miner_gives_fraud_away(self):
        for kind, seed, difficulty in itertools.product(KINDS, SEEDS, DIFFICULTIES):
            with self.subTest(kind=kind, seed=seed, difficulty=difficulty), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(rules_of(pathlib.Path(folder) / "data", "--type", kind, "--seed", str(seed),
                                          "--difficulty", difficulty), [])


if __name__ == "__main__":
    unittest.main()
