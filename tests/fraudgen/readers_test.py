"""Third-party readers see the same rows with the right types in every format.

  readers_test.py FRAUDGEN
"""

import csv
import datetime
import gzip
import importlib.util
import json
import subprocess
import unittest

import fraudgen

ROWS = 5_000


def have(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def flat(record: dict, prefix: str = "") -> dict:
    """{"address": {"city": ...}} as {"address_city": ...}."""
    found = {}
    for key, value in record.items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{key}_"))
        else:
            found[prefix + key] = value
    return found


def lines(file) -> list[dict]:
    return [flat(json.loads(line)) for line in file.read_text("utf-8").splitlines()]


def as_text(value: object) -> str:
    """Normalises a value as in text formats; numbers are compared as numbers."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = str(value)
    if text in ("True", "False"):  # text formats
        return text.lower()
    try:
        return repr(float(text)) if text[0] in "-0123456789" else text
    except ValueError:
        return text


class Readers:
    """Tests for both models."""

    asked: tuple
    tables: tuple

    def setUp(self) -> None:
        super().setUp()
        self.jsonl = self.make("jsonl", *self.asked, "--format", "jsonl")
        self.rows = {table: lines(self.jsonl / f"{table}/part-00000.jsonl") for table in self.tables}

    def expect_same(self, table: str, records: list[dict]) -> None:
        self.assertEqual(len(records), len(self.rows[table]), table)
        for wanted, seen in zip(self.rows[table], records, strict=True):
            self.assertEqual({key: as_text(value) for key, value in wanted.items()},
                             {key: as_text(value) for key, value in seen.items()}, table)

    def need_parquet(self) -> None:
        if not fraudgen.writes_parquet():
            self.skipTest("built without Arrow")

    def test_row_count(self) -> None:
        self.assertEqual(len(self.rows["transactions"]), ROWS)
        frauds = sum(row["is_fraud"] for row in self.rows["transactions"])
        self.assertEqual(frauds, ROWS // 50)

    def test_json_is_one_array(self) -> None:
        made = self.make("json", *self.asked, "--format", "json")
        for table in self.tables:
            records = json.loads((made / f"{table}/part-00000.json").read_text("utf-8"))
            self.expect_same(table, [flat(record) for record in records])

    def test_separated_values(self) -> None:
        for name, separator in (("csv", ","), ("tsv", "\t")):
            made = self.make(name, *self.asked, "--format", name)
            for table in self.tables:
                with (made / f"{table}/part-00000.{name}").open(encoding="utf-8", newline="") as file:
                    records = list(csv.DictReader(file, delimiter=separator))
                self.expect_same(table, [{key.replace(".", "_"): value
                                          for key, value in record.items()}
                                         for record in records])

    def test_duckdb_reads_text(self) -> None:
        if not have("duckdb"):
            self.skipTest("no duckdb")
        import duckdb
        made = self.make("csv", *self.asked, "--format", "csv")
        for file in (made / "transactions/*.csv", self.jsonl / "transactions/*.jsonl"):
            count, frauds, amount = duckdb.sql(
                "SELECT count(*), count(*) FILTER (is_fraud), "
                f"round(sum(amount) * 100)::BIGINT FROM '{file}'").fetchall()[0]
            self.assertEqual((count, frauds), (ROWS, ROWS // 50))
            self.assertEqual(amount, round(sum(round(row["amount"] * 100)
                                               for row in self.rows["transactions"])))

    def test_compressed_text(self) -> None:
        self.need_parquet()  # the same library has the codecs
        for form, codec, suffix in (("jsonl", "gzip", "gz"), ("csv", "gzip", "gz"), ("jsonl", "zstd", "zst"),
                                    ("csv", "zstd", "zst"), ("csv", "lz4", "lz4")):
            asked = (*self.asked, "--format", form, "--compression", codec)
            made = self.make(f"{form}_{codec}", *asked)
            file = made / f"transactions/part-00000.{form}.{suffix}"
            packed = file.read_bytes()
            plain = self.jsonl if form == "jsonl" else self.make(f"plain_{codec}", *self.asked, "--format", form)
            text = (plain / f"transactions/part-00000.{form}").read_bytes()
            self.assertLess(len(packed), len(text) / 1.5)
            if codec == "gzip":
                self.assertEqual(gzip.decompress(packed), text)
            elif have("pyarrow"):
                import pyarrow
                with pyarrow.input_stream(file, compression=codec) as stream:
                    self.assertEqual(stream.read(), text)
            if have("duckdb") and codec != "lz4":
                import duckdb
                count = duckdb.sql(f"SELECT count(*) FROM '{file}' WHERE is_fraud").fetchall()[0]
                self.assertEqual(count, (ROWS // 50,))
            if have("polars") and form == "csv" and codec != "lz4":
                import polars
                self.assertEqual(polars.read_csv(file, infer_schema=False).height, ROWS)
            if have("pandas") and codec == "gzip":
                import pandas
                read = pandas.read_csv if form == "csv" else pandas.read_json
                frame = read(file) if form == "csv" else read(file, lines=True)
                self.assertEqual(int(frame.is_fraud.sum()), ROWS // 50)
            self.assertIn("checks passed", fraudgen.output_of("check", made))
            fraudgen.output_of("report", made, "--output", self.place / f"{form}_{codec}.html")
            self.assertGreater((self.place / f"{form}_{codec}.html").stat().st_size, 100_000)
            stream = subprocess.run([fraudgen.PROGRAM, "--quiet", "--output", "-", *map(str, asked)],
                                    capture_output=True, check=True).stdout
            self.assertEqual(stream, packed, "the same to standard output")
            sample = subprocess.run([fraudgen.PROGRAM, "sample", *map(str, asked)], capture_output=True,
                                    check=True).stdout
            if codec == "gzip":
                self.assertEqual(len(gzip.decompress(sample).splitlines()), 10 + (form == "csv"))

    def test_parquet(self) -> None:
        self.need_parquet()
        made = self.make("parquet", *self.asked, "--format", "parquet")
        for table in self.tables:
            file = made / f"{table}/part-00000.parquet"
            if have("duckdb"):
                import duckdb
                relation = duckdb.sql(f"SELECT * FROM '{file}'")
                self.expect_same(table, [dict(zip(relation.columns, row, strict=True))
                                         for row in relation.fetchall()])
            if have("pyarrow"):
                import pyarrow.parquet
                self.expect_same(table, pyarrow.parquet.read_table(file).to_pylist())
            if have("polars"):
                import polars
                self.expect_same(table, polars.read_parquet(file).to_dicts())

    def test_parquet_types(self) -> None:
        """Dictionaries within the file do not show: numbers are numbers, identifiers are texts."""
        self.need_parquet()
        made = self.make("types_seen", *self.asked, "--format", "parquet")
        folder = made / "transactions"
        wanted = {  # pyarrow, pandas, polars, DuckDB
            "amount": ("double", "float64", "Float64", "DOUBLE"),
            "geolocation_lat": ("double", "float64", "Float64", "DOUBLE"),
            "distance_from_last_txn_km": ("double", "float64", "Float64", "DOUBLE"),
            "customer_id": ("string", "str", "String", "VARCHAR"),
            "merchant_id": ("string", "str", "String", "VARCHAR"),
            "timestamp": ("timestamp[us]", "datetime64[us]", "Datetime", "TIMESTAMP"),
            "transactions_last_24h": ("int64", "int64", "Int64", "BIGINT"),
            "is_fraud": ("bool", "bool", "Boolean", "BOOLEAN"),
        }
        seen: dict[str, dict[str, str]] = {}
        if have("pyarrow"):
            import pyarrow.dataset
            schema = pyarrow.dataset.dataset(folder).schema
            seen["pyarrow"] = {name: str(schema.field(name).type) for name in wanted}
        if have("pandas"):
            import pandas
            frame = pandas.read_parquet(folder)
            seen["pandas"] = {name: str(frame.dtypes[name]).replace("object", "str")
                              for name in wanted}
            self.assertAlmostEqual(float((frame.amount * 1.1).sum()),
                                   1.1 * sum(row["amount"] for row in self.rows["transactions"]), 2)
        if have("polars"):
            import polars
            schema = polars.scan_parquet(f"{folder}/").collect_schema()
            seen["polars"] = {name: str(schema[name]).split("(")[0] for name in wanted}
        if have("duckdb"):
            import duckdb
            relation = duckdb.sql(f"FROM '{folder}/*.parquet'")
            types = dict(zip(relation.columns, map(str, relation.types), strict=True))
            seen["DuckDB"] = {name: types[name] for name in wanted}
        for index, reader in enumerate(("pyarrow", "pandas", "polars", "DuckDB")):
            if reader not in seen:
                continue
            self.assertEqual(seen[reader], {name: kinds[index] for name, kinds in wanted.items()},
                             reader)

    def test_times_are_the_same_to_all_readers(self) -> None:
        """Local time of Brasilia, without a zone, in every format."""
        wanted = [row["timestamp"] for row in self.rows["transactions"]]
        for time in wanted:
            self.assertRegex(time, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$")
        files = {"jsonl": self.jsonl / "transactions/part-00000.jsonl"}
        for form in ("json", "csv", "tsv", *(("parquet", "arrow") if fraudgen.writes_parquet() else ())):
            files[form] = (self.make(f"zone_{form}", *self.asked, "--format", form) /
                           f"transactions/part-00000.{form}")
        seen: dict[str, list[datetime.datetime]] = {}
        if have("duckdb"):
            import duckdb
            # A reader in another zone must not shift times.
            base = duckdb.connect()
            base.sql("SET TimeZone = 'Asia/Tokyo'")
            for form in files:
                if form != "arrow":
                    read = f"read_csv('{files[form]}', delim = '\t')" if form == "tsv" else f"'{files[form]}'"
                    relation = base.sql(f"SELECT timestamp::TIMESTAMP FROM {read}")
                    seen[f"DuckDB, {form}"] = [row[0] for row in relation.fetchall()]
        if have("pandas"):
            import pandas
            seen["pandas, jsonl"] = list(pandas.read_json(files["jsonl"], lines=True).timestamp)
            seen["pandas, csv"] = list(pandas.read_csv(files["csv"], parse_dates=["timestamp"]).timestamp)
            if "parquet" in files:
                seen["pandas, parquet"] = list(pandas.read_parquet(files["parquet"]).timestamp)
        if have("polars") and "parquet" in files:
            import polars
            seen["Polars, parquet"] = polars.read_parquet(files["parquet"])["timestamp"].to_list()
            seen["Polars, arrow"] = polars.read_ipc(files["arrow"])["timestamp"].to_list()
            seen["Polars, csv"] = polars.read_csv(files["csv"], try_parse_dates=True)["timestamp"].to_list()
        if have("pyarrow") and "parquet" in files:
            import pyarrow.parquet
            table = pyarrow.parquet.read_table(files["parquet"])
            seen["pyarrow, parquet"] = table["timestamp"].to_pylist()
            field = table.schema.field("timestamp")
            self.assertEqual(str(field.type), "timestamp[us]", "without a zone")
            self.assertEqual(field.metadata[b"time_zone"], b"-03:00")
        for reader, times in seen.items():
            self.assertEqual([time.isoformat(timespec="microseconds") for time in times], wanted, reader)

    def test_folders_of_tables_open_as_one(self) -> None:
        self.need_parquet()
        made = self.make("folders", *self.asked, "--format", "parquet")
        for table in self.tables:
            rows = len(self.rows[table])
            if have("pandas"):
                import pandas
                self.assertEqual(len(pandas.read_parquet(made / table)), rows, table)
            if have("polars"):
                import polars
                self.assertEqual(polars.scan_parquet(f"{made}/{table}/").collect().height, rows)
            if have("pyarrow"):
                import pyarrow.dataset
                self.assertEqual(pyarrow.dataset.dataset(made / table).count_rows(), rows, table)
            if have("duckdb"):
                import duckdb
                count = duckdb.sql(f"SELECT count(*) FROM '{made}/{table}/*.parquet'").fetchall()[0]
                self.assertEqual(count, (rows,), table)

    def test_partitions_are_columns(self) -> None:
        self.need_parquet()
        asked = (*self.asked, "--format", "parquet")
        months = self.make("months", *asked, "--partition", "year,month") / "transactions"
        types = self.make("types", *asked, "--partition", "type,is_fraud") / "transactions"
        fraudgen.output_of("check", self.place / "months", "--quiet")
        fraudgen.output_of("check", self.place / "types", "--quiet")
        keys = [(row["transaction_id"], row["type"], row["is_fraud"],
                 int(row["timestamp"][:4]), int(row["timestamp"][5:7]))
                for row in self.rows["transactions"]]
        if have("duckdb"):
            import duckdb
            seen = duckdb.sql("SELECT transaction_id, year::INT, month::INT FROM read_parquet("
                              f"'{months}/*/*/*.parquet', hive_partitioning = true)").fetchall()
            self.assertEqual(sorted(seen), sorted((key[0], *key[3:]) for key in keys))
            seen = duckdb.sql("SELECT transaction_id, type, is_fraud::BOOLEAN FROM read_parquet("
                              f"'{types}/*/*/*.parquet', hive_partitioning = true)").fetchall()
            self.assertEqual(sorted(seen), sorted(key[:3] for key in keys))
        if have("pyarrow"):
            import pyarrow.dataset
            import pyarrow.parquet
            data = pyarrow.dataset.dataset(months, format="parquet", partitioning="hive")
            seen = data.to_table(columns=["transaction_id", "year", "month"]).to_pylist()
            self.assertEqual(sorted(tuple(row.values()) for row in seen),
                             sorted((key[0], *key[3:]) for key in keys))
            file = next(types.rglob("*.parquet"))
            names = pyarrow.parquet.ParquetFile(file).schema_arrow.names
            self.assertNotIn("type", names)
            self.assertNotIn("is_fraud", names)
            data = pyarrow.dataset.dataset(types, format="parquet", partitioning="hive")
            self.assertEqual(data.count_rows(), ROWS)

    def test_arrow(self) -> None:
        self.need_parquet()
        made = self.make("arrow", *self.asked, "--format", "arrow")
        for table in self.tables:
            file = made / f"{table}/part-00000.arrow"
            if have("pyarrow"):
                import pyarrow.ipc
                with pyarrow.ipc.open_file(file) as reader:
                    self.expect_same(table, reader.read_all().to_pylist())
            if have("polars"):
                import polars
                self.expect_same(table, polars.read_ipc(file).to_dicts())

    def test_arrow_stream(self) -> None:
        self.need_parquet()
        if not have("pyarrow"):
            self.skipTest("no pyarrow")
        import pyarrow
        for codec in ("none", "lz4", "zstd"):
            asked = map(str, (*self.asked, "--format", "arrow", "--compression", codec))
            stream = subprocess.run([fraudgen.PROGRAM, "--quiet", "--output", "-", *asked],
                                    capture_output=True, check=True).stdout
            with pyarrow.ipc.open_stream(stream) as reader:
                self.expect_same("transactions", reader.read_all().to_pylist())

    def test_parquet_nested(self) -> None:
        self.need_parquet()
        if not have("pyarrow"):
            self.skipTest("no pyarrow")
        import pyarrow.parquet
        made = self.make("nested", *self.asked, "--format", "parquet", "--nested", "--money", "decimal")
        for table in self.tables:
            records = pyarrow.parquet.read_table(made / f"{table}/part-00000.parquet").to_pylist()
            self.expect_same(table, [flat(record) for record in records])

    def test_identifiers_are_unique(self) -> None:
        # Shared devices have a row per customer.
        for table, *key in (("customers", "customer_id"), ("customers", "cpf"),
                            ("devices", "device_id", "customer_id"),
                            ("transactions", "transaction_id")):
            seen = {tuple(row[part] for part in key) for row in self.rows[table]}
            self.assertEqual(len(seen), len(self.rows[table]), table)


class Classic(Readers, fraudgen.Case):
    asked = ("--model", "classic", "--rows", ROWS, "--seed", 3, "--type", "all")
    tables = ("customers", "devices", "transactions", "drivers", "rides")

    def test_references_exist(self) -> None:
        customers = {row["customer_id"] for row in self.rows["customers"]}
        devices = {row["device_id"]: row["customer_id"] for row in self.rows["devices"]}
        drivers = {row["driver_id"] for row in self.rows["drivers"]}
        for row in self.rows["transactions"]:
            self.assertEqual(devices[row["device_id"]], row["customer_id"])
        self.assertEqual(len(self.rows["rides"]), ROWS)
        for row in self.rows["rides"]:
            self.assertIn(row["passenger_id"], customers)
            self.assertIn(row["driver_id"], drivers)


class Coherent(Readers, fraudgen.Case):
    asked = ("--rows", ROWS, "--seed", 3, "--sessions")
    tables = ("customers", "accounts", "devices", "transactions", "settlements", "alerts",
              "disputes", "changes", "rings", "entries", "sessions")

    def test_references_exist(self) -> None:
        customers = {row["customer_id"] for row in self.rows["customers"]}
        transactions = {row["transaction_id"] for row in self.rows["transactions"]}
        for table in ("accounts", "devices", "transactions"):
            for row in self.rows[table]:
                self.assertIn(row["customer_id"], customers)
        for table in ("settlements", "alerts", "disputes"):
            for row in self.rows[table]:
                self.assertIn(row["transaction_id"], transactions)


if __name__ == "__main__":
    unittest.main()
