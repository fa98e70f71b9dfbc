"""fraudgen.croissant, read and checked by mlcroissant.

  croissant_test.py BUILD
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

if importlib.util.find_spec("mlcroissant") is None:
    print("needs mlcroissant in this environment: tools/setup.sh engines")
    sys.exit(77)

import mlcroissant  # pylint: disable=wrong-import-position
from testing_engines import BUILD  # pylint: disable=wrong-import-position

import fraudgen  # pylint: disable=wrong-import-position


class Croissant(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "data"

    def make(self, *options):
        done = subprocess.run([BUILD / "bin/fraudgen", "--rows", "1000", "--output", self.folder, "--quiet", *options],
                              capture_output=True, text=True, check=False)
        if "Arrow" in done.stderr:
            self.skipTest("the program was built without Arrow")
        self.assertEqual(done.returncode, 0, done.stderr)

    def read(self, table, **properties):
        """Returns all records of a table as mlcroissant reads them."""
        file = self.folder / "croissant.jsonld"
        file.write_text(json.dumps(fraudgen.croissant(self.folder, **properties)))
        data = mlcroissant.Dataset(jsonld=str(file))  # raises ValidationError
        self.assertFalse(data.metadata.ctx.issues.errors)
        self.properties = data.metadata
        return list(data.records(table))

    def value(self, record, column):
        value = record[f"transactions/{column}"]
        return value.decode() if isinstance(value, bytes) else value

    def test_formats(self):
        for form, more in (("parquet", ()), ("csv", ()), ("tsv", ()), ("jsonl", ()), ("json", ()),
                           ("csv", ("--compression", "gzip"))):
            with self.subTest(form=form, more=more), tempfile.TemporaryDirectory() as place:
                self.folder = pathlib.Path(place) / "data"
                self.make("--format", form, *more)
                records = self.read("transactions")
                rows = fraudgen.generate(rows=1000).read_all()
                self.assertEqual(len(records), 1000)
                for column in ("transaction_id", "amount", "is_fraud", "type"):
                    self.assertEqual([self.value(record, column) for record in records], rows[column].to_pylist())

    def test_every_table_and_column_is_described(self):
        self.make("--format", "csv", "--type", "all", "--graph")
        found = fraudgen.croissant(self.folder)
        schema = fraudgen.schema(type="all", graph=True)
        described = {one["@id"]: [field["name"] for field in one["field"]] for one in found["recordSet"]}
        self.assertEqual(described, {name: [column.name for column in table.columns]
                                     for name, table in schema.items() if name in described})
        self.assertGreater(set(described), {"transactions", "rides", "nodes", "edges"})
        self.assertIn("1000 transactions, ", found["description"])

    def test_values_of_partitions_are_in_names(self):
        self.make("--format", "parquet", "--partition", "type")
        records = self.read("transactions")
        types = sorted(self.value(record, "type") for record in records)
        self.assertEqual(types, sorted(fraudgen.generate(rows=1000).read_all()["type"].to_pylist()))

    def test_arrow_files_are_described(self):
        self.make("--format", "arrow")
        file = self.folder / "croissant.jsonld"
        file.write_text(json.dumps(fraudgen.croissant(self.folder)))
        self.assertFalse(mlcroissant.Dataset(jsonld=str(file)).metadata.ctx.issues.errors)

    def test_properties_of_its_owner(self):
        self.make("--format", "csv")
        self.read("transactions", license="https://creativecommons.org/publicdomain/zero/1.0/", name="payments",
                  url="https://example.com/payments")
        self.assertEqual(self.properties.name, "payments")
        self.assertEqual(self.properties.url, "https://example.com/payments")

    def test_the_folder_remains_valid(self):
        self.make("--format", "csv")
        self.read("transactions")
        self.assertEqual(fraudgen.check(self.folder).findings, 0)

    def test_incomplete_and_other_folders(self):
        with self.assertRaises(FileNotFoundError):
            fraudgen.croissant(self.folder)
        done = subprocess.run([BUILD / "bin/fraudgen", "--rows", "300000", "--shard", "1/2", "--format", "csv", "--quiet",
                               "--output", self.folder], check=False)
        self.assertEqual(done.returncode, 0)
        with self.assertRaises(FileNotFoundError):
            fraudgen.croissant(self.folder)

    def test_what_it_cannot_describe(self):
        for options in (("--format", "parquet", "--nested"), ("--format", "csv", "--compression", "zstd")):
            with self.subTest(options=options), tempfile.TemporaryDirectory() as place:
                self.folder = pathlib.Path(place) / "data"
                self.make(*options)
                with self.assertRaises(ValueError):
                    fraudgen.croissant(self.folder)


if __name__ == "__main__":
    unittest.main()
