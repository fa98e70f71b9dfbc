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

# pylint: disable=wrong-import-position,wrong-import-order
import duckdb

from fraudgen.bench import Options, data, leaks
from fraudgen.bench.features import make_features

LONG = os.environ.get("REVEZA_LONG") == "1"
ROWS = 300_000 if LONG else 100_000
KINDS = ("transactions", "rides")
DIFFICULTIES = ("easy", "medium", "hard") if LONG else ("easy", "hard")
SEEDS = (1, 2, 3) if LONG else (1,)


def make(folder: pathlib.Path, *arguments: str, rows: int = ROWS) -> None:
    subprocess.run([BUILD / "bin/fraudgen", "--quiet", "--rows", str(rows), "--format", "parquet", "--output", folder,
                    *arguments], check=True)


def rules_of(folder: pathlib.Path) -> list[str]:
    """Returns the pure rules of a data set."""
    place = str(folder)
    with data.open_data(place, data.choose_mapping(place, None), Options(seed=1)) as opened:
        rows = opened.fetch("SELECT label, weight FROM sample ORDER BY place")
        found = leaks.rules(make_features(opened), rows["label"].astype(bool), rows["weight"], 1)
    return [f"{each.rule}: {each.frauds:.0f} of {each.rows:.0f}" for each in found if each.kind == "pure"]


class Leaks(unittest.TestCase):
    def setUp(self):
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def test_no_rule_of_the_miner_gives_fraud_away(self):
        for kind, seed, difficulty in itertools.product(KINDS, SEEDS, DIFFICULTIES):
            with self.subTest(kind=kind, seed=seed, difficulty=difficulty):
                folder = self.place / f"{kind}-{seed}-{difficulty}"
                make(folder, "--type", kind, "--seed", str(seed), "--difficulty", difficulty)
                self.assertEqual(rules_of(folder), [])

    def test_finds_rules_of_fifty_rows(self):
        folder = self.place / "planted"
        make(folder, "--type", "rides", rows=100_000)
        (file,) = (folder / "rides").glob("*.parquet")
        duckdb.sql(f"""
            COPY (SELECT * EXCLUDE place REPLACE (
                    CASE WHEN place <= 50 THEN 99999 ELSE tip END AS tip,
                    CASE WHEN place BETWEEN 51 AND 100 THEN 9 ELSE split_with END AS split_with)
                  FROM (SELECT *, row_number() OVER (PARTITION BY is_fraud ORDER BY ride_id) + 100 * (NOT is_fraud)::INT
                        AS place FROM '{file}') ORDER BY timestamp)
            TO '{file}' (FORMAT parquet)""")
        found = rules_of(folder)
        self.assertIn("split_with = 9: 50 of 50", found)
        self.assertTrue(any(each.startswith("tip in 99999") and each.endswith("50 of 50") for each in found), found)


if __name__ == "__main__":
    unittest.main()
