"""The Python package phi: the same numbers as the program, without copies, with the lock given up.

  phi_test.py BUILD
"""

import csv
import dataclasses
import functools
import importlib.util
import itertools
import pathlib
import sys
import tracemalloc
import unittest

if importlib.util.find_spec("numpy") is None:
    sys.exit(77)
import numpy  # pylint: disable=wrong-import-position

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(BUILD / "lib/python"))

import phi  # pylint: disable=wrong-import-position
from testing_lock import others_run  # pylint: disable=wrong-import-position
from testing_phi import Program, recording  # pylint: disable=wrong-import-position


class PackageTest(Program):
    """What the package returns is what the program prints."""

    build = BUILD

    def check_values(self, measurement, rows):
        self.assertEqual([value.measure for value in measurement], [row["measure"] for row in rows])
        for value, row in zip(measurement, rows):
            self.assertEqual(value.nats, row["nats"])
            parts = None if "partition" not in row else tuple(
                tuple(int(name.removeprefix("x")) for name in part.split(",")) for part in row["partition"].split("|"))
            self.assertEqual(value.partition, parts)
            self.assertEqual(value.examined, row.get("bipartitions_compared", 0))
            self.assertEqual(value.exact, row.get("minimum_is_exact", value.exact))
            self.assertEqual(value.at_least, row.get("at_least"))
            if value.bias is not None:
                self.assertEqual(value.nats - value.bias, row["less_bias"])
            if value.significance is not None:
                test = row["surrogates"]
                self.assertEqual((value.significance.p, value.significance.null_mean, value.significance.null_high),
                                 (test["p"], test["null_mean"], test["null_95_percent"]))
            if value.interval is not None:
                self.assertEqual(dataclasses.asdict(value.interval), {**row["interval"], "missing": ""})

    def test_measure(self):
        found = phi.measure(self.series, bias=True, surrogates=19, bootstrap=20, seed=7)
        rows = self.json("measure", "series.npy", "--bias", "analytic", "--surrogates", 19, "--bootstrap", 20,
                         "--seed", 7)
        self.check_values(found, rows["measures"])
        self.assertEqual(found.samples, rows["samples"])
        self.assertEqual(found.condition_number, rows["condition_number"])
        self.assertEqual(found.bias_note, rows["bias_note"])
        self.assertIn("do not use them here", found.bias_note)
        self.assertEqual(phi.measure(self.series, "si").bias_note, "")
        self.assertIsNone(phi.mip(self.series, "si", bias=True).bias)
        self.assertEqual(sum(value.significance is not None for value in found), 6)
        self.assertEqual(sum(value.interval is not None for value in found), 7)

    def test_measure_of_a_partition_and_of_an_order(self):
        found = phi.measure(self.series, ["si", "phi_g"], partition=[[0, 3], [1, 2]], lag=2, order="bic",
                            shrinkage="auto")
        rows = self.json("measure", "series.npy", "-m", "si,phi_g", "-p", "0,3|1,2", "--tau", 2, "--order", "bic",
                         "--shrinkage", "auto")
        self.check_values(found, rows["measures"])
        self.assertEqual((found.lag, found.order, found.shrinkage), (2, rows["order"], rows["shrinkage_used"]))

    def test_measure_of_trials(self):
        rows = self.json("measure", "trials.npy", "-m", "si,wms", "--surrogates", 19)
        for trials in (self.trials, list(self.trials)):
            found = phi.measure(trials, "si,wms", surrogates=19)
            self.check_values(found, rows["measures"])

    def test_pieces_between_gaps_are_shifted(self):
        pieces = [numpy.ascontiguousarray(trial[: 20 + 5 * i]) for i, trial in enumerate(list(self.trials) * 3)]
        for call in (phi.measure, phi.phiid, phi.oinfo):
            arguments = {"measures": "si"} if call is phi.measure else {}
            with self.subTest(call.__name__):
                by_default, shifted = (repr(dataclasses.asdict(found) if dataclasses.is_dataclass(found)
                                            else found.orders()) for found in (
                    call(pieces, surrogates=19, **arguments),
                    call(pieces, surrogates=19, surrogate="shift", **arguments)))
                self.assertEqual(by_default, shifted)
                with self.assertRaisesRegex(ValueError, "several lengths"):
                    call(pieces, surrogates=19, surrogate="trials", **arguments)

    def test_minimum_partition(self):
        found = phi.mip(self.series, "phi_g")
        rows = self.json("measure", "series.npy", "-m", "phi_g", "--mip", "exhaustive")
        self.check_values([found], rows["measures"])
        self.assertEqual(len(found.partition), 2)

    def test_windows(self):
        found = phi.windows(self.series, 100, "si,phi_r", step=50)
        rows = list(csv.DictReader(self.phi("measure", "series.npy", "-m", "si,phi_r", "--window", 100, "--step", 50)
                                   .splitlines()))
        self.assertEqual([(window.first_row, window.last_row) for window in found],
                         [(int(row["first_row"]), int(row["last_row"])) for row in rows])
        for window, row in zip(found, rows):
            self.assertEqual((window["si"].nats, window["phi_r"].nats), (float(row["si"]), float(row["phi_r"])))

    def test_decomposition(self):
        for redundancy in ("mmi", "ccs"):
            found = phi.phiid(self.series, redundancy=redundancy, surrogates=19, bias=True, local=True)
            rows = self.json("measure", "series.npy", "--phiid", redundancy, "--surrogates", 19, "--bias",
                             "analytic")["phiid"]
            self.assertEqual({atom.name: atom.nats for atom in found.atoms},
                             {name: row["nats"] for name, row in rows["atoms"].items()})
            self.assertEqual(found.phi_r, rows["phi_r"])
            for atom in found.atoms:
                row = rows["atoms"][atom.name]
                self.assertEqual(atom.bias is not None, "less_bias" in row)
                self.assertEqual(None if atom.significance is None else atom.significance.p,
                                 row.get("surrogates", {"p": None})["p"])
            self.assertEqual(found.local.shape, (399, 16))
            numpy.testing.assert_allclose(found.local.mean(axis=0), [atom.nats for atom in found.atoms], atol=1e-12)
        # A minimum over partitions has no bias, a given partition has one.
        self.assertEqual(phi.phiid(self.series, bias=True).bias_note, "")
        found = phi.phiid(self.series, partition=[[0, 1], [2, 3]], bias=True)
        self.assertIsNotNone(found["rtr"].bias)
        self.assertIn("independent rows", found.bias_note)

    def test_granger_causality(self):
        for conditional in (False, True):
            found = phi.granger(self.series, conditional=conditional, order=2)
            row = self.json("measure", "series.npy", "-m", "i", "--order", 2, "--granger",
                            "conditional" if conditional else "pair")["granger"]
            self.assertEqual((found.nats.tolist(), found.p.tolist(), found.q.tolist()),
                             (row["nats"], row["p"], row["q"]))
        self.assertIsNone(phi.granger(self.series, shrinkage=0.1).p)

    def test_transfer_entropy(self):
        for estimator in ("discrete", "gauss", "ksg"):
            found = phi.te(self.series, estimator=estimator, target_history=2, surrogates=9)
            rows = self.json("te", "series.npy", "--estimator", estimator, "-k", 2, "--surrogates", 9)["pairs"]
            self.assertEqual([(pair.nats, pair.corrected, pair.samples, pair.p, pair.q) for pair in found.pairs],
                             [(row["nats"], row["corrected"], row["samples"], row["p"], row["q"]) for row in rows])
            self.assertEqual([pair.histories_suffice for pair in found.pairs],
                             [row["histories_suffice"] for row in rows])
            matrix = found.matrix("p")
            self.assertEqual(matrix[2, 1], rows[7]["p"])
            self.assertTrue(numpy.isnan(numpy.diagonal(matrix)).all())

    def test_transfer_entropy_between_sets(self):
        names = ["a", "b", "c", "d"]
        found = phi.te(self.series, estimator="gauss", source=["a", "b"], target="c", given="all", names=names)
        row = self.json("te", "series.npy", "--estimator", "gauss", "--source", "0,1", "--target", "2", "--given",
                        "all")["pairs"][0]
        self.assertEqual(found.pairs[0].nats, row["nats"])
        same = phi.te(self.series, estimator="gauss", source=numpy.array([0, 1]).tolist(), target=numpy.int64(2),
                      given="all")
        self.assertEqual(same, found)
        self.assertEqual((found.pairs[0].source, found.pairs[0].target, found.pairs[0].given), ((0, 1), (2,), (3,)))

    def test_groups_of_variables(self):
        for copula in (False, True):
            found = phi.oinfo(self.series, copula=copula, surrogates=19)
            rows = self.json("measure", "series.npy", "--oinfo", "copula" if copula else "gauss", "--surrogates",
                             19)["orders"]
            orders = found.orders()
            self.assertEqual([(order.order, order.subsets) for order in orders],
                             [(row["order"], row["subsets"]) for row in rows])
            for order, row in zip(orders, rows):
                self.assertEqual(dict(order.mean), row["mean"])
                for side in ("highest", "lowest"):
                    self.assertEqual({name: (each.nats, each.p) for name, each in getattr(order, side).items()},
                                     {name: (each["nats"], each.get("p")) for name, each in row[side].items()})

    def test_table_of_groups_is_in_the_order_of_combinations(self):
        found = phi.oinfo(self.series)
        subsets, values = found.table(2, 3)
        wanted = [group for size in (2, 3) for group in itertools.combinations(range(4), size)]
        self.assertEqual([tuple(i for i in range(4) if int(bits) >> i & 1) for bits in subsets], wanted)
        for group, row in zip(wanted, values):
            self.assertEqual(list(found.values(group).values()), list(row))
        self.assertEqual(list(found.values([0, 1])), list(found.measures))

    def test_cycles(self):
        self.phi("run", "--cycles", 70, "--runs", 3, "-d", 64, "-m", "phi_legacy,si", "--window", 20, "--every", 10,
                 "--feedback", 0.5, "-o", "out")
        rows = list(csv.DictReader((self.folder / "out/rows.csv").read_text().splitlines()))
        run = phi.run(70, 3, dimension=64, measures="phi_legacy,si", window=20, every=10, feedback=0.5)
        self.assertEqual(run.measures, ("phi_legacy", "si"))
        seen = 0
        for cycle in run:
            for i in range(3):
                row = rows[seen]
                seen += 1
                self.assertEqual((int(row["cycle"]), int(row["run"])), (cycle.cycle, i))
                self.assertEqual(int(row["hash"], 16), int(cycle.hashes[i]))
                self.assertEqual([numpy.float32(row[name]) for name in run.states], list(cycle.states[i]))
                numpy.testing.assert_array_equal(
                    [float(row[name] or "nan") for name in run.measures], cycle.values[i])
        self.assertEqual(seen, len(rows))


class Arrays(unittest.TestCase):
    def test_series_is_not_copied(self):
        series = recording(100_000, 8)
        tracemalloc.start()
        try:
            phi.measure(series, "si")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        self.assertLess(peak, series.nbytes / 10)

    def test_arrays_that_must_not_be_written_are_read(self):
        series = recording()
        series.flags.writeable = False
        self.assertEqual(phi.measure(series, "si"), phi.measure(recording(), "si"))

    def test_threads_do_not_change_results(self):
        series = recording()
        one, many = (phi.measure(series, surrogates=9, threads=threads) for threads in (1, 3))
        self.assertEqual(one, many)

    def test_results_are_immutable(self):
        found = phi.measure(recording(), "si")
        with self.assertRaises(dataclasses.FrozenInstanceError):
            found.samples = 1
        with self.assertRaises(dataclasses.FrozenInstanceError):
            found["si"].nats = 1.0
        with self.assertRaises(KeyError):
            found["wms"]  # pylint: disable=pointless-statement

    def test_what_would_need_a_copy_is_an_error(self):
        series = recording()
        for wrong, error in ((series.astype(numpy.float32), TypeError), (series.tolist(), TypeError),
                             (series.astype(int), TypeError), (numpy.asfortranarray(series), ValueError),
                             (series.T, ValueError), (series[:, ::2], ValueError), (series[0], ValueError),
                             ([], ValueError), ([series, series[:, :2].copy()], ValueError)):
            with self.assertRaises(error):
                phi.measure(wrong)

    def test_errors(self):
        series = recording()
        unknown = series.copy()
        unknown[3, 2] = numpy.nan
        for call in (lambda: phi.measure(series, "sigma"), lambda: phi.measure(series, partition="0|1"),
                     lambda: phi.measure(unknown), lambda: phi.measure(series, lag=0),
                     lambda: phi.measure(series, order="best"), lambda: phi.measure(series, shrinkage=2.0),
                     lambda: phi.measure(series, names=["a"]), lambda: phi.windows(series, 1000),
                     lambda: phi.te(series, estimator="guess"), lambda: phi.te(series, source=9, target=0),
                     lambda: phi.te(series, bins=1),
                     lambda: phi.run(runs=0),
                     lambda: phi.run(measures="psi"), lambda: phi.oinfo(series).values([4])):
            with self.assertRaises(ValueError):
                call()
        for call in (phi.measure, phi.oinfo, phi.granger, phi.phiid,
                     *(functools.partial(phi.te, estimator=name) for name in ("discrete", "gauss", "ksg"))):
            with self.assertRaisesRegex(ValueError, "row 3 "):
                call(unknown)
        with self.assertRaises(TypeError):
            phi.measure(series, lag="two")

    def test_errors_name_arguments(self):
        with self.assertRaisesRegex(ValueError, "^measure: ") as raised:
            phi.run(measures="psi")
        self.assertNotIn("--", str(raised.exception))


class Lock(unittest.TestCase):
    """Other Python threads make progress while a function computes."""

    def check(self, call):
        self.assertTrue(others_run(call, 10_000))

    def test_a_call_that_keeps_the_lock_is_seen(self):
        with self.assertRaises(AssertionError):
            self.check(lambda: sum(range(10)))

    def test_measures(self):
        series = recording()
        self.check(lambda: phi.measure(series, "si", threads=1))
        self.check(lambda: phi.windows(series, 200, "si", step=100, threads=1))
        self.check(lambda: phi.granger(series))
        self.check(lambda: phi.te(series, threads=1))
        self.check(lambda: phi.oinfo(series, threads=1))
        self.check(lambda: phi.phiid(series, threads=1))

    def test_cycles(self):
        self.check(lambda: next(phi.run(1, dimension=64, measures="none")))


if __name__ == "__main__":
    unittest.main()
