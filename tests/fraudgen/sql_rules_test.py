"""The rules of `fraudgen check --sql`, run by DuckDB on sound and on damaged tables.

  sql_rules_test.py PROGRAM
"""

import pathlib
import unittest

import fraudgen

try:
    import duckdb
except ImportError:
    duckdb = None

ROWS = ("--rows", 9000, "--customers", 150, "--fraud-rate", 0.04, "--type", "all")
# A column of a table, its wrong values as SQL, and what the rule that breaks contains.
DAMAGE = {
    "coherent": [
        ("transactions", "device_id", "'DEV_000000000001'", "device_id with customer_id exists"),
        ("transactions", "customer_id", "'CUST_000000000001'", "customer_id exists in customers"),
        ("transactions", "transaction_id", "'TXN_000000000000001'", "transaction_id is unique"),
        ("transactions", "transaction_id", "'X'", "transaction_id is TXN_ and digits"),
        ("transactions", "amount", "-1", "amount is positive"),
        ("transactions", "channel", "'PIGEON'", "channel is a known value"),
        ("transactions", "status", "NULL", "no value is missing"),
        ("transactions", "fraud_type", "NULL", "fraud_type is set for frauds only"),
        ("transactions", "risk_score", "101", "risk_score is 0 to 100"),
        ("transactions", "balance_after", "-1", "balance_after is not negative"),
        ("transactions", "fraud_reported_at", "timestamp", "fraud_reported_at is later"),
        ("transactions", "card_type", "'DEBIT'", "card_type is the payment type"),
        ("customers", "cpf", "'111.222.333-44'", "check digits of cpf match"),
        ("customers", "cpf", "'what'", "cpf is ddd.ddd.ddd-dd"),
        ("accounts", "account_number", "'1'", "account_number is unique"),
        ("disputes", "decided_at", "opened_at", "decided_at is later"),
        ("settlements", "returned_amount", "amount + 1", "returned_amount is at most amount"),
        ("entries", "balance_after", "balance_after + 0.01", "balance_after follows"),
        ("entries", "amount", "amount + 1", "balance_after follows"),
        ("entries", "counterparty_account", "account_id", "each payment to a customer is one"),
        ("entries", "posted_at", "posted_at - INTERVAL 9 DAY", "what is received was paid"),
        ("entries", "counterparty_account", "account_id", "what is received was paid"),
        ("entries", "posted_at", "TIMESTAMP '2024-01-01 00:00:00'", "posted_at with account_id is unique"),
        ("entries", "kind", "'SALARY'", "counterparty_account is set for what is received only"),
        ("entries", "kind", "'SALARY'", "transaction_id is set for what comes back only"),
        ("entries", "kind", "'SALARY'", "amount falls for what leaves the account only"),
        ("entries", "account_id", "'ACC_0'", "account_id with customer_id exists in accounts"),
        ("entries", "transaction_id", "'TXN_0'", "transaction_id with customer_id exists"),
        ("sessions", "session_id", "'SESS_0'", "session_id is unique"),
        ("sessions", "session_id", "'SESS_0'", "session_id is SESS_ and digits"),
        ("sessions", "account_id", "'ACC_0'", "account_id with customer_id exists in accounts"),
        ("sessions", "device_id", "'DEV_0'", "each payment by device or at a branch has one"),
        ("sessions", "device_id", "'DEV_0'", "device that is registered is in devices"),
        ("sessions", "device_id", "NULL", "null at branches only"),
        ("sessions", "ip_address", "NULL", "null at branches only"),
        ("sessions", "outcome", "'FAILED'", "failed log-ins have no payments"),
        ("sessions", "outcome", "'FAILED'", "failed log-ins have no events"),
        ("sessions", "failed_attempts", "0", "failed_attempts is positive"),
        ("sessions", "started_at", "started_at + INTERVAL 1 DAY", "payments are later than started_at"),
        ("sessions", "started_at", "TIMESTAMP '1990-01-01 00:00:00'", "not before the account is opened"),
        ("alerts", "transaction_id", "'TXN_0'", "transaction_id exists in transactions"),
        ("alerts", "reviewed_at", "alerted_at", "reviewed_at is later"),
        ("alerts", "decision", "NULL", "decision is set for reviewed"),
        ("rides", "driver_id", "'DRV_0'", "driver_id exists in drivers"),
        ("rides", "pickup_datetime", "dropoff_datetime + INTERVAL 1 DAY", "times follow each other"),
    ],
    "classic": [
        ("transactions", "fraud_score", "50", "fraud_score agrees with is_fraud"),
        ("transactions", "refusal_reason", "'CVV_ERROR'", "refusal_reason is set for declined"),
        ("transactions", "pix_key_type", "NULL", "PIX keys are set for PIX only"),
        ("devices", "device_id", "'DEV_000000000001'", "device_id is unique"),
        ("drivers", "cpf", "'111.222.333-44'", "check digits of cpf match"),
    ],
}


@unittest.skipIf(duckdb is None, "duckdb is not installed; run tools/setup.sh")
class SqlRules(fraudgen.Case):
    def open(self, data: pathlib.Path) -> "duckdb.DuckDBPyConnection":
        engine = duckdb.connect()
        self.addCleanup(engine.close)
        for folder in data.iterdir():
            if folder.name == "_fraudgen":
                continue
            file = next(folder.iterdir())
            engine.execute(f"CREATE TABLE {folder.name} AS FROM '{folder}/*{file.suffix}'")
        return engine

    def broken(self, engine: "duckdb.DuckDBPyConnection", *arguments: object) -> dict[str, int]:
        rules = dict(engine.execute(fraudgen.output_of("check", "--sql", "--type", "all", *arguments))
                     .fetchall())
        self.assertGreater(len(rules), 40)
        return {rule: count for rule, count in rules.items() if count > 0}

    def test_sound_data_break_none(self) -> None:
        for format in ["jsonl"] + ["parquet"] * fraudgen.writes_parquet():
            for options in (("--model", "classic"), ("--model", "coherent", "--graph", "--sessions"),
                            ("--identities", "safe")):
                with self.subTest((format, options)):
                    made = self.make(format + options[1], *ROWS, *options, "--format", format)
                    self.assertEqual(self.broken(self.open(made), *options), {})

    def test_damage_breaks_its_rule(self) -> None:
        if not fraudgen.writes_parquet():
            self.skipTest("no Arrow")
        for model, damages in DAMAGE.items():
            options = ("--model", model, *(("--sessions",) if model == "coherent" else ()))
            engine = self.open(self.make(model, *ROWS, *options, "--format", "parquet"))
            for table, column, value, rule in damages:
                with self.subTest((table, column, value)):
                    engine.execute("BEGIN")
                    engine.execute(f"UPDATE {table} SET {column} = {value}")
                    broken = self.broken(engine, *options)
                    self.assertTrue(any(each.startswith(table + ": ") and rule in each
                                        for each in broken), broken)
                    engine.execute("ROLLBACK")


if __name__ == "__main__":
    unittest.main()
