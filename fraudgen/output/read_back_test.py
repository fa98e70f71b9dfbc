"""What pyarrow, DuckDB and Polars see in our files: the same values in every format.

  read_back_test.py SAMPLES     (the program fraudgen_output_samples)

JSON lines, read by Python itself with exact decimals, are what the others are compared with.
"""

import csv
import datetime
import decimal
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import duckdb
    import polars
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet
except ImportError as error:
    MISSING = f"{error.name} is not installed; run tools/setup.sh test"
else:
    MISSING = ""

SAMPLES = sys.argv.pop() if len(sys.argv) > 1 else ""
FLAT = ("things", "transactions")
MONEY = {"amount", "fee", "accumulated_amount_24h"}


def flatten(record: dict, prefix: str = "") -> dict:
    flat = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}_")
        else:
            flat[prefix + key] = value
    return flat


def parse(text: str):
    """Parses times and days."""
    for read in (datetime.date.fromisoformat, datetime.datetime.fromisoformat):
        try:
            return read(text) if len(text) in (10, 26) and text[4:5] == "-" else text
        except ValueError:
            pass
    return text


def value_of(value):
    """Converts a JSON value as a reader of floating-point columns does."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    return parse(value) if isinstance(value, str) else value


def text_of(value) -> str | None:
    """Converts a JSON value to its CSV field."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    return value if value is None else str(value)


@unittest.skipIf(MISSING, MISSING)
class ReadBack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([SAMPLES, folder.name], check=True)
        cls.raw, cls.wanted = {}, {}
        for name in FLAT:
            lines = (cls.folder / f"{name}.jsonl").read_text("utf-8").split("\n")[:-1]
            cls.raw[name] = [flatten(json.loads(line, parse_float=decimal.Decimal))
                             for line in lines]
            cls.wanted[name] = [{key: value_of(value) for key, value in row.items()}
                                for row in cls.raw[name]]

    def path(self, file: str) -> str:
        path = self.folder / file
        self.assertTrue(path.exists(), file)
        return str(path)

    def assert_rows(self, found: list, name: str, wanted: list | None = None):
        wanted = self.wanted[name] if wanted is None else wanted
        self.assertEqual(len(found), len(wanted))
        for number, (row, right) in enumerate(zip(found, wanted)):
            self.assertEqual(row, right, f"{name}, row {number}")

    def assert_tuples(self, found: list, columns: list, name: str, wanted: list | None = None):
        self.assert_rows([dict(zip(columns, row)) for row in found], name, wanted)

    def test_there_is_something_to_compare(self):
        for name in FLAT:
            rows = self.raw[name]
            self.assertEqual(len(rows), 5000)
            for key in rows[0]:
                self.assertGreater(len({row[key] for row in rows}), 1 if key != "currency" else 0)
        self.assertTrue(any("\n" in row["id"] and '"' in row["id"] for row in self.raw["things"]))

    def test_json_is_the_same_records(self):
        for name in FLAT:
            records = json.loads(pathlib.Path(self.path(f"{name}.json")).read_text("utf-8"),
                                 parse_float=decimal.Decimal)
            self.assert_rows([flatten(record) for record in records], name, self.raw[name])

    def test_csv_with_python(self):
        for name, end, separator in ((name, *how) for name in FLAT
                                     for how in (("csv", ","), ("tsv", "\t"))):
            with open(self.path(f"{name}.{end}"), newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file, delimiter=separator, strict=True))
            # It does not tell a null from an empty text.
            self.assert_rows(rows, name, [{key: text_of(value) or "" for key, value in row.items()}
                                          for row in self.raw[name]])

    def test_csv_with_duckdb(self):
        for name in FLAT:
            found = duckdb.sql(f"""select * from read_csv('{self.path(name + ".csv")}',
                all_varchar=true, header=true, delim=',', quote='"', escape='"', nullstr='',
                allow_quoted_nulls=false, new_line='\\n', parallel=false)""")
            self.assert_tuples(found.fetchall(), found.columns, name,
                               [{key: text_of(value) for key, value in row.items()}
                                for row in self.raw[name]])

    def test_csv_with_polars(self):
        for name in FLAT:
            found = polars.read_csv(self.path(f"{name}.csv"), infer_schema=False)
            self.assert_rows(found.to_dicts(), name,
                             [{key: text_of(value) for key, value in row.items()}
                              for row in self.raw[name]])

    def test_csv_types_are_found_by_themselves(self):
        path = self.path("transactions.csv")
        found = dict(zip(duckdb.sql(f"from '{path}'").columns,
                         map(str, duckdb.sql(f"from '{path}'").types)))
        for key, kind in (("timestamp", "TIMESTAMP"), ("amount", "DOUBLE"), ("is_fraud", "BOOLEAN"),
                          ("installments", "BIGINT")):
            self.assertEqual(found[key], kind, key)

    def test_json_lines_with_polars_and_duckdb(self):
        for name in FLAT:
            path = self.path(f"{name}.jsonl")
            wanted = [{key: float(value) if isinstance(value, decimal.Decimal) else value
                       for key, value in row.items()} for row in self.raw[name]]
            found = polars.read_ndjson(path, infer_schema_length=None)
            self.assert_rows([flatten(row) for row in found.to_dicts()], name, wanted)
            found = duckdb.sql(f"from read_json('{path}', sample_size=-1)")
            records = [flatten(dict(zip(found.columns, row))) for row in found.fetchall()]
            self.assert_rows([{key: value_of(value) for key, value in row.items()}
                              for row in records], name)

    def test_parquet_and_arrow_with_pyarrow(self):
        for name in FLAT:
            for table in (pyarrow.parquet.read_table(self.path(f"{name}.parquet")),
                          pyarrow.ipc.open_file(self.path(f"{name}.arrow")).read_all()):
                table.validate(full=True)
                self.assert_rows(table.to_pylist(), name)
                for field in table.schema:
                    nulls = sum(row[field.name] is None for row in self.raw[name])
                    self.assertEqual(table[field.name].null_count, nulls, field.name)
                    self.assertEqual(field.nullable, nulls > 0, field.name)

    def test_parquet_and_arrow_with_polars(self):
        for name in FLAT:
            for found in (polars.read_parquet(self.path(f"{name}.parquet")),
                          polars.read_ipc(self.path(f"{name}.arrow"))):
                self.assert_rows(found.to_dicts(), name)

    def test_parquet_with_duckdb(self):
        for name in FLAT:
            found = duckdb.sql(f"from '{self.path(name + '.parquet')}'")
            self.assert_tuples(found.fetchall(), found.columns, name)

    def test_money_as_decimals_and_as_cents(self):
        for kind in ("decimal", "cents"):
            wanted = []
            for raw, right in zip(self.raw["things"], self.wanted["things"]):
                money = {key: value if kind == "decimal" or value is None else int(value * 100)
                         for key, value in raw.items() if key in MONEY}
                wanted.append(right | money)
            parquet = self.path(f"things_{kind}.parquet")
            self.assert_rows(pyarrow.parquet.read_table(parquet).to_pylist(), "things", wanted)
            arrow = pyarrow.ipc.open_file(self.path(f"things_{kind}.arrow")).read_all()
            self.assert_rows(arrow.to_pylist(), "things", wanted)
            self.assert_rows(polars.read_parquet(parquet).to_dicts(), "things", wanted)
            found = duckdb.sql(f"from '{parquet}'")
            self.assert_tuples(found.fetchall(), found.columns, "things", wanted)

    def test_nested_is_structs(self):
        parquet = self.path("things_nested.parquet")
        arrow = self.path("things_nested.arrow")
        found = duckdb.sql(f"from '{parquet}'")
        by_duckdb = [dict(zip(found.columns, row)) for row in found.fetchall()]
        for records in (pyarrow.parquet.read_table(parquet).to_pylist(),
                        pyarrow.ipc.open_file(arrow).read_all().to_pylist(),
                        polars.read_parquet(parquet).to_dicts(), by_duckdb):
            self.assertEqual(set(records[0]["place"]), {"street", "point", "colour"})
            self.assert_rows([flatten(record) for record in records], "things")

    def test_categories_are_dictionaries_in_the_file_and_to_the_reader(self):
        # Recurring texts and numbers are dictionaries in the file only.
        recurring = {"distance_from_last_txn_km", "fraud_score"}
        path = self.path("transactions.parquet")
        schema = pyarrow.parquet.read_schema(path)
        file = pyarrow.parquet.ParquetFile(path)
        self.assertEqual(file.metadata.num_row_groups, 3)
        self.assertEqual(file.metadata.created_by, "fraudgen version 0.1.0 (build test)")
        categories = [field.name for field in schema
                      if pyarrow.types.is_dictionary(field.type)]
        self.assertIn("status", categories)
        for group in range(file.metadata.num_row_groups):
            for index in range(file.metadata.num_columns):
                chunk = file.metadata.row_group(group).column(index)
                encoded = chunk.path_in_schema in {*categories, *recurring}
                self.assertEqual(chunk.has_dictionary_page, encoded, chunk.path_in_schema)
                self.assertEqual("RLE_DICTIONARY" in chunk.encodings, encoded)
        seen = duckdb.sql(f"select path_in_schema, encodings from parquet_metadata('{path}')")
        for name, encodings in seen.fetchall():
            self.assertEqual("RLE_DICTIONARY" in encodings, name in {*categories, *recurring}, name)

    def test_statistics_are_right_and_used(self):
        path = self.path("transactions.parquet")
        rows = self.wanted["transactions"]
        metadata = pyarrow.parquet.ParquetFile(path).metadata
        for name in ("transaction_id", "customer_id", "timestamp", "amount", "is_fraud"):
            index = metadata.schema.names.index(name)
            first = 0
            for group in range(metadata.num_row_groups):
                chunk = metadata.row_group(group)
                values = [row[name] for row in rows[first:first + chunk.num_rows]]
                first += chunk.num_rows
                statistics = chunk.column(index).statistics
                self.assertEqual((statistics.min, statistics.max), (min(values), max(values)), name)
                self.assertEqual(statistics.null_count, 0)


if __name__ == "__main__":
    unittest.main()
