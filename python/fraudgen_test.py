"""The Python package fraudgen: the rows that the program writes, without a file.

  fraudgen_test.py BUILD
"""

import dataclasses
import datetime
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(BUILD / "lib/python"))
os.environ["PATH"] = f"{BUILD / 'bin'}:{os.environ['PATH']}"

import fraudgen  # pylint: disable=wrong-import-position
from testing_lock import others_run  # pylint: disable=wrong-import-position

ARROW = importlib.util.find_spec("pyarrow") is not None
if ARROW:
    import pyarrow
    import pyarrow.ipc


def program(*arguments, cwd=None):
    return subprocess.run([BUILD / "bin/fraudgen", *map(str, arguments)], cwd=cwd, capture_output=True, check=False)


@unittest.skipUnless(ARROW, "needs pyarrow")
class Rows(unittest.TestCase):
    def check_equal(self, settings, *options):
        """Both have the same types, metadata, values and order."""
        done = program("--output", "-", "--format", "arrow", "--threads", 1, "--quiet", *options)
        if done.returncode != 0 and b"Arrow" in done.stderr:
            self.skipTest("the program was built without Arrow")
        self.assertEqual(done.returncode, 0, done.stderr)
        written = pyarrow.ipc.open_stream(done.stdout).read_all()
        reader = fraudgen.generate(**settings)
        self.assertIsInstance(reader, pyarrow.RecordBatchReader)
        generated = reader.read_all()
        generated.validate(full=True)
        self.assertTrue(generated.schema.equals(written.schema, check_metadata=True),
                        f"{generated.schema}\n{written.schema}")
        self.assertEqual(generated.num_rows, written.num_rows)
        self.assertGreater(generated.num_rows, 0)
        self.assertTrue(generated.equals(written))
        return generated

    def test_transactions(self):
        table = self.check_equal({"rows": 2000}, "--rows", 2000)
        self.assertEqual(table.num_rows, 2000)

    def test_several_batches_and_blocks(self):
        table = self.check_equal({"rows": 140_000, "seed": 3, "model": "classic"}, "--rows", 140_000, "--seed", 3,
                                 "--model", "classic")
        self.assertEqual([batch.num_rows for batch in table.to_batches()], [65_536, 65_536, 8928])

    def test_every_table_of_both_models(self):
        for model in ("coherent", "classic"):
            for table in fraudgen.schema(model=model, type="all"):
                self.check_equal({"rows": 1000, "model": model, "type": "all", "table": table}, "--rows", 1000,
                                 "--model", model, "--type", "all", "--table", table)

    def test_settings(self):
        settings = {"rows": 1000, "fraud_rate": 0.05, "difficulty": "hard", "start_date": datetime.date(2024, 1, 1),
                    "end_date": "2024-06-30", "identities": "safe", "customers": 300, "graph": True, "sessions": True,
                    "defects": ["late=0.1", "null"]}
        options = ("--rows", 1000, "--fraud-rate", 0.05, "--difficulty", "hard", "--start-date", "2024-01-01",
                   "--end-date", "2024-06-30", "--identities", "safe", "--customers", 300, "--graph",
                   "--sessions", "--defects", "late=0.1,null")
        for table in ("transactions", "nodes", "sessions"):
            self.check_equal({**settings, "table": table}, *options, "--table", table)

    def test_scenarios(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / "mine.toml", pathlib.Path(folder) / "no_phishing.toml"]
            files[0].write_text('name = "MINE"\nweight = 90\namount = 100\n', encoding="utf-8")
            files[1].write_text('name = "PHISHING"\nweight = 0\n', encoding="utf-8")
            table = self.check_equal({"rows": 3000, "scenario": files}, "--rows", 3000, "--scenario", files[0],
                                     "--scenario", files[1])
            kinds = table["fraud_type"].to_pylist()
            self.assertIn("MINE", kinds)
            self.assertNotIn("PHISHING", kinds)
            self.check_equal({"rows": 1000, "scenario": files[0]}, "--rows", 1000, "--scenario", files[0])
            for error, settings, said in (
                    (ValueError, {"scenario": files, "model": "classic"}, "scenario requires model coherent"),
                    (FileNotFoundError, {"scenario": "none.toml"}, "none.toml")):
                with self.assertRaisesRegex(error, said):
                    fraudgen.stream(rows=10, **settings)
            files[0].write_text("weight = x\n", encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "mine.toml:1:"):
                fraudgen.stream(rows=10, scenario=files)

    def test_labels_as_of_a_day(self):
        day = datetime.date(2025, 6, 30)
        settings, options = {"rows": 3000, "type": "all"}, ("--rows", 3000, "--type", "all")
        for table in ("transactions", "rides", "accounts", "disputes"):
            known = self.check_equal({**settings, "table": table, "labels_as_of": day}, *options, "--table", table,
                                     "--labels-as-of", day)
        known = fraudgen.generate(rows=3000, labels_as_of=str(day)).read_all()
        full = fraudgen.generate(rows=3000).read_all()
        labels = [name for name in full.column_names if name == "is_fraud" or name.startswith("fraud_")]
        self.assertTrue(known.drop_columns(labels).equals(full.drop_columns(labels)))
        reported = [each for each in full["fraud_reported_at"].to_pylist() if each and each.date() <= day]
        self.assertEqual([each for each in known["fraud_reported_at"].to_pylist() if each], reported)
        self.assertGreater(len(reported), 5)

    def test_types_of_money(self):
        for money in ("decimal", "cents"):
            self.check_equal({"rows": 1000, "money": money}, "--rows", 1000, "--money", money)

    def test_columns_are_chosen_in_order(self):
        every = fraudgen.generate(rows=1000).read_all()
        chosen = fraudgen.generate(rows=1000, columns=["amount", "transaction_id"]).read_all()
        self.assertEqual(chosen.column_names, ["amount", "transaction_id"])
        self.assertTrue(chosen.equals(every.select(["amount", "transaction_id"])))

    def test_shards(self):
        for settings, options in (({"rows": 300_000, "model": "classic"}, ("--rows", 300_000, "--model", "classic")),
                                  ({"customers": 3000, "start_date": "2025-11-01"},
                                   ("--customers", 3000, "--start-date", "2025-11-01"))):
            for shard in ("1/2", "2/2"):
                self.check_equal({**settings, "shard": shard}, *options, "--shard", shard)
        self.assertEqual(fraudgen.generate(rows=1000, shard="2/2").read_all().num_rows, 0)

    def test_reader_may_stop_early(self):
        reader = fraudgen.generate(rows=1_000_000, model="classic")
        self.assertEqual(reader.read_next_batch().num_rows, 65_536)
        before = threading.active_count()
        del reader
        self.assertEqual(threading.active_count(), before)

    def test_batches_outlive_the_reader(self):
        reader = fraudgen.generate(rows=1000)
        batch = reader.read_next_batch()
        column = batch.column("transaction_id")
        del reader, batch
        self.assertEqual(column, fraudgen.generate(rows=1000).read_all()["transaction_id"].chunk(0))

    def test_data_frames(self):
        frame = fraudgen.generate(rows=100).read_pandas() if importlib.util.find_spec("pandas") else None
        if frame is not None:
            self.assertEqual(len(frame), 100)
            self.assertTrue(fraudgen.stream(rows=100).to_pandas().equals(frame))
        if importlib.util.find_spec("polars"):
            import polars  # pylint: disable=import-outside-toplevel
            expected = polars.DataFrame(fraudgen.generate(rows=100))
            self.assertEqual(expected.height, 100)
            for rows in (polars.DataFrame(fraudgen.stream(rows=100)), fraudgen.stream(rows=100).to_polars()):
                self.assertTrue(rows.equals(expected))

    def test_each_reader_of_a_stream_gets_all_rows(self):
        stream = fraudgen.stream(rows=100, seed=3)
        first = stream.to_reader().read_all()
        self.assertEqual(first.num_rows, 100)
        self.assertTrue(pyarrow.RecordBatchReader.from_stream(stream).read_all().equals(first))
        self.assertTrue(first.equals(fraudgen.generate(rows=100, seed=3).read_all()))

    @unittest.skipUnless(importlib.util.find_spec("duckdb"), "needs DuckDB")
    def test_duckdb_reads_streams(self):
        import duckdb  # pylint: disable=import-outside-toplevel
        rows = fraudgen.stream(rows=1000)  # pylint: disable=unused-variable  # DuckDB finds it by name
        found = duckdb.sql("SELECT count(*), count(DISTINCT transaction_id) FROM rows").fetchall()
        self.assertEqual(found, [(1000, 1000)])

    def test_lock_is_given_up(self):
        self.assertTrue(others_run(lambda: fraudgen.stream(size="2MB"), 1000))  # it estimates its rows


@unittest.skipUnless(ARROW, "needs pyarrow")
class Shards(unittest.TestCase):
    """What workers of Spark and Ray get."""

    def plan(self, settings, shards=None):
        from fraudgen import _shards  # pylint: disable=import-outside-toplevel
        return pickle.loads(pickle.dumps(_shards.plan(settings, shards)))

    def test_rows_of_a_size_are_determined_by_the_plan(self):
        plan = self.plan({"size": "2MB"}, 2)
        self.assertEqual(plan.settings["rows"], str(plan.rows))
        self.assertNotIn("size", plan.settings)
        self.assertEqual(sum(batch.num_rows for index in range(2) for batch in plan.read(index)), plan.rows)
        self.assertIsNone(self.plan({"customers": 100}).rows)

    def test_default_is_a_shard_per_group_of_blocks(self):
        self.assertEqual(self.plan({"rows": 1000}).shards, 1)
        self.assertEqual(self.plan({"rows": 1_000_000_000}).shards, 167)

    def test_schema_is_that_of_the_rows(self):
        plan = self.plan({"rows": 1000, "table": "customers", "money": "cents"})
        self.assertTrue(plan.schema.equals(plan.read(0).schema, check_metadata=True))

    def test_worker_of_another_version_is_refused(self):
        plan = dataclasses.replace(self.plan({"rows": 1000}), maker="fraudgen version 9")
        with self.assertRaises(RuntimeError) as raised:
            plan.read(0)
        self.assertIn("fraudgen version 9", str(raised.exception))

    def test_fingerprint_changes_with_the_rows(self):
        settings = {"rows": 1000, "columns": ["amount"]}
        prints = [self.plan({**settings, **more}, shards).fingerprint()
                  for more, shards in (({}, 2), ({}, 3), ({"seed": 2}, 2), ({"columns": ["type"]}, 2),
                                       ({"table": "transactions"}, 2))]
        self.assertEqual(len(set(prints)), len(prints))
        self.assertEqual(self.plan(settings, 2).fingerprint(), prints[0])

    def test_errors(self):
        for error, settings, shards in ((ValueError, {"rows": 10}, 0), (ValueError, {"rows": 10}, "two"),
                                        (ValueError, {"rows": 10}, 1_000_001), (ValueError, {"rows": 10}, 1.5),
                                        (ValueError, {"rows": 10, "columns": ["amout"]}, 1),
                                        (TypeError, {"rows": 10, "columns": "amount"}, 1),
                                        (TypeError, {"rows": 10, "shard": "1/2"}, 1)):
            with self.assertRaises(error):
                self.plan(settings, shards)


class Package(unittest.TestCase):
    def test_streams_need_no_reader(self):
        stream = fraudgen.stream(rows=1000)
        del stream
        capsule = fraudgen.stream(rows=1000).__arrow_c_stream__()
        self.assertIn("arrow_array_stream", repr(capsule))

    def test_missing_packages_are_named(self):
        for package, call in (("pyarrow", "generate(rows=10)"), ("pyarrow", "stream(rows=10).to_reader()"),
                              ("pandas", "stream(rows=10).to_pandas()"), ("polars", "stream(rows=10).to_polars()")):
            code = (f"import sys; sys.modules['{package}'] = None; sys.path.insert(0, sys.argv[1]); import fraudgen\n"
                    f"try: fraudgen.{call}\n"
                    "except ImportError as error: print(error)")
            done = subprocess.run([sys.executable, "-c", code, BUILD / "lib/python"], capture_output=True, text=True,
                                  check=True)
            self.assertIn(f"pip install {package}", done.stdout)

    def test_schema(self):
        tables = fraudgen.schema()
        columns = {column.name: column for column in tables["transactions"].columns}
        self.assertEqual((columns["amount"].type, columns["amount"].unit), ("decimal", "BRL"))
        self.assertIn("PIX", columns["type"].values)
        self.assertTrue(all(column.meaning for column in columns.values()))
        self.assertIn("rides", fraudgen.schema(type="rides"))

    def test_check(self):
        command = "import sys; sys.path.insert(0, sys.argv[1]); import fraudgen; fraudgen.check('data')"
        done = subprocess.run([sys.executable, "-c", command, BUILD / "lib/python"], capture_output=True, text=True,
                              check=False, env={"PATH": ""})
        self.assertIn("the program 'fraudgen' is neither beside Python nor on the PATH", done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            done = program("--rows", 1000, "--format", "csv", "--output", "data", "--quiet", cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            data = pathlib.Path(folder) / "data"
            result = fraudgen.check(data)
            self.assertEqual(result.findings, 0)
            self.assertIn("passed", {check.verdict for check in result.checks})
            file = next(data.glob("transactions/*.csv"))
            file.write_bytes(file.read_bytes()[:-100])
            damaged = fraudgen.check(data)
            self.assertGreater(damaged.findings, 0)
            self.assertEqual(damaged.findings, sum(check.verdict == "failed" for check in damaged.checks))
            self.assertEqual([one.table for one in damaged.files], ["transactions"])
            self.assertGreater(damaged.files[0].count, 0)
            self.assertGreater(damaged.files[0].first[0].row, 900)
        with self.assertRaisesRegex(FileNotFoundError, "^could not read the folder"):
            fraudgen.check(data)
        with self.assertRaisesRegex(RuntimeError, "--threads"):
            fraudgen.check(BUILD, threads=-1)

    def test_errors(self):
        for settings in ({"rows": 0}, {"rows": "many"}, {"rows": 10, "size": "1MB"}, {"model": "vague"},
                         {"rows": 10, "table": "clouds"}, {"rows": 10, "columns": ["amout"]},
                         {"rows": 10, "columns": ["amount", "amount"]}, {"rows": 10, "fraud_rate": 2.0},
                         {"rows": 10, "shard": "3/2"}, {"rows": 10, "shard": "half"}):
            with self.assertRaises(ValueError) as raised:
                fraudgen.stream(**settings)
            self.assertNotIn("--", str(raised.exception))
        for settings in ({"row": 10}, {"format": "csv"}, {"rows": 10, "columns": "amount"}):
            with self.assertRaises(TypeError):
                fraudgen.stream(**settings)


if __name__ == "__main__":
    unittest.main()
