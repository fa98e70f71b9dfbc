"""The data that fraudgen.bench reads, and the command: mappings, headers of other data sets, errors, output.

  fraudgen_bench_data_test.py BUILD
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from testing_bench import BUILD, MINIMAL, Case, write

from fraudgen.bench import BenchError, Options, bench, mapping, report  # pylint: disable=wrong-import-order

PROGRAM = BUILD / "bin/fraudgen"
# The header of each data set, and a function of a row's number and label that gives a row.
FOREIGN = {
    "ieee-cis": {
        "train_transaction.csv": (
            ["TransactionID", "isFraud", "TransactionDT", "TransactionAmt", "ProductCD",
             *(f"card{n}" for n in range(1, 7)), "addr1", "addr2", "dist1", "dist2", "P_emaildomain", "R_emaildomain",
             *(f"C{n}" for n in range(1, 15)), *(f"D{n}" for n in range(1, 16)), *(f"M{n}" for n in range(1, 10)),
             *(f"V{n}" for n in range(1, 340))],
            lambda n, fraud: [2987000 + n, fraud, 86400 + 60 * n, 10 + n % 90, "WCHRS"[n % 5], 1000 + n % 40, n % 7,
                              150, "visa", 226, "debit", 300 + n % 5, 87, "", "", "gmail.com", "",
                              *([1] * 14), *([""] * 15), *(["T"] * 9), *([n % 3] * 339)]),
        "train_identity.csv": (
            ["TransactionID", *(f"id_{n:02}" for n in range(1, 39)), "DeviceType", "DeviceInfo"],
            lambda n, fraud: [2987000 + n, *([""] * 30), "chrome", "", "1920x1080", *([""] * 5), "mobile",
                              f"SM-{n % 30}"]),
    },
    "paysim": {
        "PS_20174392719_1491204439457_log.csv": (
            ["step", "type", "amount", "nameOrig", "oldbalanceOrg", "newbalanceOrig", "nameDest", "oldbalanceDest",
             "newbalanceDest", "isFraud", "isFlaggedFraud"],
            lambda n, fraud: [n // 20, ("PAYMENT", "TRANSFER")[fraud], 10 + n % 50, f"C{n}", 100, 90, f"M{n % 40}", 0,
                              0, fraud, 0]),
    },
    "banksim": {
        "bs140513_032310.csv": (
            ["step", "customer", "age", "gender", "zipcodeOri", "merchant", "zipMerchant", "category", "amount",
             "fraud"],
            lambda n, fraud: [n // 40, f"'C{n % 90}'", f"'{n % 6}'", "'F'", "'28007'", f"'M{n % 20}'", "'28007'",
                              "'es_food'", 5 + n % 30, fraud]),
    },
    "baf": {
        "Base.csv": (
            ["fraud_bool", "income", "name_email_similarity", "prev_address_months_count",
             "current_address_months_count", "customer_age", "days_since_request", "intended_balcon_amount",
             "payment_type", "zip_count_4w", "velocity_6h", "velocity_24h", "velocity_4w", "bank_branch_count_8w",
             "date_of_birth_distinct_emails_4w", "employment_status", "credit_risk_score", "email_is_free",
             "housing_status", "phone_home_valid", "phone_mobile_valid", "bank_months_count", "has_other_cards",
             "proposed_credit_limit", "foreign_request", "source", "session_length_in_minutes", "device_os",
             "keep_alive_session", "device_distinct_emails_8w", "device_fraud_count", "month"],
            lambda n, fraud: [fraud, 0.3, 0.9, -1, n % 90, 10 * (n % 7), 0.006, 50.5, "AA", 1000 + n, 13096.0, 7850.9,
                              6742.0, 5, 5, "CB", 160 + n % 9, 1, "BC", 0, 1, 9, 0, 1500.0, 0, "INTERNET", 16.2,
                              "linux", 1, 1, 0, n // 250]),
    },
    "amlworld": {
        "HI-Small_Trans.csv": (
            ["Timestamp", "From Bank", "Account", "To Bank", "Account", "Amount Received", "Receiving Currency",
             "Amount Paid", "Payment Currency", "Payment Format", "Is Laundering"],
            lambda n, fraud: [f"2022/09/{1 + n // 100:02} {n % 24:02}:20", "010", f"80{n % 90:03}EBD30", "011",
                              f"80{n % 30:03}F5340", 3697.34, "US Dollar", 3697.34 + n % 9, "US Dollar", "ACH",
                              fraud]),
    },
}
SHARED = {"ieee-cis": {"device"}}
# What needs whole customers, and hours.
WITHOUT_BEHAVIOUR = {"baf"}


class Foreign(Case):
    def test_headers_of_other_data_sets_are_found_and_measured(self):
        for name, files in FOREIGN.items():
            with self.subTest(name):
                for file, (head, row) in files.items():
                    write(self.place / name / file, head, [row(n, int(n % 10 == 3)) for n in range(2000)])
                found = bench(self.place / name)
                self.assertEqual((found.mapping, found.rows, found.frauds), (name, 2000, 200))
                self.assertEqual(bool(found.behaviour), name not in WITHOUT_BEHAVIOUR)
                self.assertIn(("time", "columns"), {(each.split, each.features) for each in found.utility.scores})
                shipped = mapping.read_mapping(name)
                self.assertEqual(set(shipped.shared), SHARED.get(name, set()))
                for column in ("isFraud", "fraud", "fraud_bool", "Is Laundering", *shipped.ignore):
                    self.assertNotIn(column, found.features)

    def test_one_file_is_enough(self):
        file, (head, row) = next(iter(FOREIGN["paysim"].items()))
        write(self.place / "any.csv", head, [row(n, int(n % 10 == 3)) for n in range(1000)])
        self.assertEqual(bench(self.place / "any.csv", "paysim").rows, 1000)
        self.assertEqual(file[:3], "PS_")
        with self.assertRaisesRegex(BenchError, "needs the tables transactions, identities"):
            bench(self.place / "any.csv", "ieee-cis")


class Mappings(Case):
    def test_shipped_mappings_are_those_that_are_named(self):
        self.assertEqual({path.stem for path in mapping.SHIPPED.glob("*.toml")}, set(mapping.NAMES))
        for name in mapping.NAMES:
            self.assertTrue(mapping.read_mapping(name).title)

    def test_errors_name_the_key_and_what_would_be_right(self):
        for text, message in ((MINIMAL + "[featuers]\n", "unknown key 'featuers'; did you mean features"),
                              (MINIMAL.replace("receiver", "reciever"), "did you mean receiver"),
                              (MINIMAL.replace('label = "fraud = 1"\n', ""), "lacks label"),
                              (MINIMAL.replace('"who"', "7"), "customer: expected SQL in quotes, not 7"),
                              (MINIMAL.replace('log = "log"', "log = 1"), "expected a file name"),
                              (MINIMAL.replace('log = "log"', 'log = "log"\nb = "b"'), "'from' is missing"),
                              ("[columns]\ntime = 'a'\nlabel = 'b'\n", "tables"),
                              ("tables = 1\n", "tables must be a section"),
                              ("time = \n", "mine: ")):
            with self.assertRaisesRegex(BenchError, message) as caught:
                mapping.parse(text, "mine")
            self.assertEqual(caught.exception.status, 3, message)
        with self.assertRaisesRegex(BenchError, "cannot read nothing.*paysim"):
            mapping.read_mapping("nothing")

    def test_data_that_do_not_fit(self):
        self.write_log(self.random_rows(1200))
        cases = (('"who"', '"nobody"', "customer = nobody"), ("fraud = 1", "1 = 1", "1200 of 1200 rows are frauds"),
                 ("fraud = 1", "nullif(fraud, 1) = 0", "label = .* is null in "),
                 ('"moment::TIMESTAMP"', '"nullif(who, \'c1\')::TIMESTAMP"', "Conversion Error"),
                 ('[columns]', '[columns]\nid = "device"', "is not unique"),
                 ('"moment::TIMESTAMP"', '"CASE WHEN amount > 50 THEN moment::TIMESTAMP END"', "time = .* is null in "))
        for old, new, message in cases:
            (self.place / "other.toml").write_text(MINIMAL.replace(old, new))
            with self.assertRaisesRegex(BenchError, message):
                bench(self.place / "data", str(self.place / "other.toml"))
        with self.assertRaisesRegex(BenchError, "none of the shipped mappings fits"):
            bench(self.place / "data")
        with self.assertRaisesRegex(BenchError, "no such file"):
            bench(self.place / "nowhere")
        (self.place / "data/log.parquet").write_text("")
        with self.assertRaisesRegex(BenchError, "several or unknown formats"):
            bench(self.place / "data", self.mine)
        for options, message in ((Options(memory="much"), "--memory: much is invalid"),
                                 (Options(rows=10), "10 rows are too few")):
            with self.assertRaisesRegex(BenchError, message):
                bench(self.place / "data", self.mine, options=options)

    def test_what_the_label_is_made_of_is_no_feature(self):
        self.write_log([[*row, f"kind{row[5]}"] for row in self.random_rows(1500)],
                       head=("moment", "who", "whom", "device", "amount", "fraud", "Reason"))
        (self.place / "other.toml").write_text(MINIMAL.replace("fraud = 1", "lower(reason) IN ('kind1') AND fraud = 1"))
        found = bench(self.place / "data", str(self.place / "other.toml"))
        self.assertNotIn("Reason", found.features)
        self.assertNotIn("fraud", found.features)
        self.assertIn("amount", found.features)


class Program(Case):
    def run_bench(self, *arguments):
        threads = () if "--threads" in arguments else ("--threads", "1")
        return subprocess.run([PROGRAM, "bench", *map(str, arguments), *threads], cwd=self.place, capture_output=True,
                              text=True, check=False, env={**os.environ, "FRAUDGEN_PYTHON": sys.executable})

    def make(self, name, *options):
        done = subprocess.run([PROGRAM, "--output", self.place / name, "--quiet", "--rows", "20000", "--format", "csv",
                               *options], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_own_data_of_both_models_and_rides(self):
        for name, options in (("fraudgen", ()), ("fraudgen-classic", ("--model", "classic")),
                              ("fraudgen-rides", ("--type", "rides"))):
            self.make(name, *options)
            done = self.run_bench(name, "--json", "--output", f"{name}.html")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)[0]
            self.assertEqual((found["mapping"], found["rows"], found["frauds"]), (name, 20000, 400))
            self.assertTrue({"is_fraud", "fraud_type", "fraud_role", "fraud_reported_at"}.isdisjoint(
                found["features"]))
            patterns = {each["pattern"] for each in found["behaviour"]}
            self.assertEqual(patterns, {"P1", "P2", "P3", "P4"})
            if name == "fraudgen-classic":
                self.assertGreater({each["column"]: each["auc"] for each in found["leaks"]["singles"]}["fraud_score"],
                                   0.999)
                self.assertTrue(found["leaks"]["rules"])

    def test_same_numbers_for_any_threads(self):
        self.write_log(self.random_rows(3000))
        outputs = [self.run_bench("data", "--mapping", self.mine, "--json", "--threads", threads, "--seed", seed).stdout
                   for threads, seed in ((1, 1), (2, 1), (2, 2))]
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[1], outputs[2])
        self.assertEqual(json.loads(outputs[0])[0]["rows"], 3000)

    def test_table_and_page(self):
        self.write_log(self.random_rows(2000), "<script>alert(1)</script>")
        self.write_log(self.random_rows(2000), "two")
        done = self.run_bench("<script>alert(1)</script>", "two", "--mapping", self.mine)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("data sets: "), done.stdout)
        page = (self.place / "bench.html").read_text()
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;", page)
        self.assertIn("default-src 'none'", page)
        self.assertEqual([path.name for path in self.place.glob("tmp*")], [])
        self.assertEqual(self.run_bench("two", "--mapping", self.mine, "-o", "-").stdout[:15], "<!doctype html>")

    def test_progress(self):
        self.write_log(self.random_rows(2000))
        done = self.run_bench("data", "--mapping", self.mine)
        steps = done.stderr.splitlines()
        for step in steps:
            self.assertRegex(step, r"^ *\d+ s  \S")
        self.assertIn(f"reading data by mapping {self.mine}", steps[0])
        self.assertIn("drawing a sample of 2,000 rows", steps[1])
        quiet = self.run_bench("data", "--mapping", self.mine, "--quiet")
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "", ""))

    def test_errors_are_one_line_and_leave_nothing(self):
        self.write_log(self.random_rows(2000))
        (self.place / "page.html").write_text("before")
        for status, message, arguments in (
                (2, "no such file or folder", ("nowhere",)),
                (2, "bench reads local files", ("s3://bucket/data",)),
                (3, "cannot read", ("data", "--mapping", "nothing")),
                (2, "invalid int value", ("data", "--sample", "many")),
                (2, "is a folder", ("data", "--mapping", self.mine, "-o", "data")),
                (12, "cannot write", ("data", "--mapping", self.mine, "-o", "nowhere/page.html"))):
            done = self.run_bench(*(() if "-o" in arguments else ("-o", "page.html")), *arguments)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertTrue(done.stderr.startswith("fraudgen: "), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual((self.place / "page.html").read_text(), "before")
        self.assertEqual({path.name for path in self.place.iterdir()}, {"data", "mine.toml", "page.html"})

    def test_a_stopped_run_leaves_nothing(self):
        self.make("data")
        scratch = self.place / "scratch"
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            scratch.mkdir()
            with subprocess.Popen([PROGRAM, "bench", "data", "--quiet"], cwd=self.place, stderr=subprocess.PIPE,
                                  env={**os.environ, "FRAUDGEN_PYTHON": sys.executable, "TMPDIR": str(scratch)}) as run:
                while not list(scratch.glob("fraudgen-bench-*/bench.duckdb")):
                    self.assertIsNone(run.poll())
                    time.sleep(0.01)
                run.send_signal(number)
                self.assertEqual(run.stderr.read(), b"")
            self.assertEqual(run.returncode, status)
            scratch.rmdir()
            self.assertFalse((self.place / "bench.html").exists())

    def test_numbers_of_results_that_lack_a_part(self):
        self.write_log(self.random_rows(1500, 0.01))
        results = [bench(self.place / "data", self.mine)]
        self.assertIn("no split by time", report.text(results))
        self.assertIn("no split by time", report.page([*results, *results]))


if __name__ == "__main__":
    unittest.main()
