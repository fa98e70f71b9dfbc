"""No simple rule gives fraud away, at any difficulty, in payments and in rides.

  leaks_test.py FRAUDGEN

A rule is a condition on one column, a pair of categories, a pattern of nulls, or the number of rows,
customers or payers of an entity. It is *pure* if nearly all of its rows are fraud, and *blind* if
none of very many rows is: both would let a model score without learning behaviour. The other tests
are of columns that must say nothing, and of the number of frauds by day. python/fraudgen_leaks_test.py
tries the rules of `fraudgen bench`, too: features of the graph, and trees.
"""

import importlib.util
import itertools
import os
import unittest

import fraudgen

# REVEZA_LONG=1: more of them.
LONG = os.environ.get("REVEZA_LONG") == "1"
ROWS = 250_000 if LONG else 150_000
SEEDS = (1, 7, 23) if LONG else (1,)
DIFFICULTIES = ("0", "0.5", "1") if LONG else ("0", "1")

# A rule of fewer rows may be pure by chance.
MIN_ROWS = 50
PURE = 0.95
# No fraud where this share of all rows would have hundreds.
BLIND = 0.05

LABELS = {"is_fraud", "fraud_type", "fraud_role", "fraud_reported_at"}
# Columns of alerts that are known at the payment; `reviewed_at` and `decision` are known later.
OF_ALERTS = ("rule", "action")
MISSING = [module for module in ("duckdb", "numpy") if importlib.util.find_spec(module) is None]

# Whose number of rows or users must not be a rule: (entity, what is counted).
ENTITIES = {
    "transactions": (("device_id", "customer_id"), ("device_id", "transaction_id"),
                     ("counterparty_account", "customer_id"), ("counterparty_account", "transaction_id"),
                     ("pix_key_destination", "customer_id"), ("merchant_id", "customer_id"),
                     ("ip_address", "customer_id"), ("card_number_hash", "customer_id"),
                     ("customer_id", "transaction_id"), ("session_id", "transaction_id")),
    "rides": (("device_id", "passenger_id"), ("device_id", "ride_id"), ("driver_id", "passenger_id"),
              ("driver_id", "ride_id"), ("passenger_id", "ride_id"), ("passenger_id", "device_id")),
}

# Digits that nothing about a payment determines, and whose they are: a card that is used for many
# frauds counts once.
NOISE = {
    "transactions": {
        "seconds": ("second(timestamp)", "transaction_id"),
        "microseconds": ("microsecond(timestamp) % 1000", "transaction_id"),
        "latitude": ("abs(round(geolocation_lat * 1000000))::BIGINT % 10", "transaction_id"),
        "longitude": ("abs(round(geolocation_lon * 1000000))::BIGINT % 10", "transaction_id"),
        "transaction": ("right(transaction_id, 2)::INT", "transaction_id"),
        "card": ("('0x' || right(card_number_hash, 2))::INT", "card_number_hash"),
        "address": ("split_part(ip_address, '.', 4)::INT", "ip_address"),
        "account": ("right(counterparty_account, 2)::INT", "counterparty_account"),
        "device": ("right(device_id, 2)::INT", "device_id"),
        "customer": ("right(customer_id, 2)::INT", "customer_id"),
    },
    "rides": {
        "seconds": ("second(timestamp)", "ride_id"),
        "microseconds": ("microsecond(timestamp) % 1000", "ride_id"),
        "latitude": ("abs(round(pickup_location_lat * 1000000))::BIGINT % 10", "ride_id"),
        "longitude": ("abs(round(dropoff_location_lon * 1000000))::BIGINT % 10", "ride_id"),
        "ride": ("right(ride_id, 2)::INT", "ride_id"),
        "device": ("right(device_id, 2)::INT", "device_id"),
        "passenger": ("right(passenger_id, 2)::INT", "passenger_id"),
    },
}
# Beyond chance: the standard error is 0.29 / sqrt(frauds).
MAX_AUC = 0.52
EDGE = 8  # days


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class Miner(fraudgen.Case):
    """Looks for rules in a table `t`."""

    def setUp(self) -> None:
        super().setUp()
        if not fraudgen.writes_parquet():
            self.skipTest("built without Arrow")
        self.found: list[str] = []

    def open(self, *arguments: object) -> None:
        """Makes data, and views of its tables."""
        import duckdb
        made = self.make("-".join(map(str, arguments)), "--format", "parquet", *arguments)
        self.data = duckdb.connect()
        for folder in made.iterdir():
            if folder.name != "_fraudgen":
                self.data.execute(f"CREATE VIEW {folder.name} AS FROM '{folder}/*.parquet'")

    def describe(self) -> None:
        self.rows, self.frauds = self.data.sql("SELECT count(*), sum(is_fraud::INT) FROM t").fetchall()[0]
        self.columns = [(name, kind) for name, kind, *_ in self.data.sql("DESCRIBE t").fetchall()
                        if name not in LABELS]

    def load(self, kind: str, *arguments: object) -> None:
        self.open("--type", kind, *arguments)
        if kind == "transactions":
            columns = ", ".join(f"alerts.{name} AS alert_{name}" for name in OF_ALERTS)
            self.data.execute(
                f"CREATE TABLE t AS SELECT transactions.*, {columns}, "
                "epoch_us(timestamp) - epoch_us(first_use) AS age_of_device FROM transactions "
                "LEFT JOIN alerts USING (transaction_id) LEFT JOIN devices ON "
                "devices.device_id = transactions.device_id AND "
                "devices.customer_id = transactions.customer_id")
        else:
            self.data.execute(f"CREATE TABLE t AS FROM {kind}")
        self.kind = kind
        self.describe()

    def judge(self, rule: str, rows: int, frauds: int) -> None:
        if rows >= MIN_ROWS and frauds >= PURE * rows:
            self.found.append(f"pure: {rule}: {frauds} of {rows}")
        if rows >= BLIND * self.rows and frauds == 0:
            self.found.append(f"blind: {rule}: none of {rows}")

    def groups(self, *by: str) -> None:
        keys = ", ".join(by)
        for *values, rows, frauds in self.data.sql(
                f"SELECT {keys}, count(*), sum(is_fraud::INT) FROM t GROUP BY ALL").fetchall():
            self.judge(" and ".join(f"{key} = {value}" for key, value in zip(by, values, strict=True)),
                       rows, frauds)

    def categories(self) -> list[str]:
        few = [name for name, kind in self.columns if kind in ("VARCHAR", "BOOLEAN") and
               self.data.sql(f"SELECT approx_count_distinct({name}) FROM t").fetchall()[0][0] <= 60]
        return [*few, "hour(timestamp)", "dayofweek(timestamp)"]

    def null_patterns(self) -> None:
        pattern = " || ".join(f"({name} IS NULL)::INT" for name, _ in self.columns)
        self.groups(pattern)

    def intervals(self) -> None:
        """The longest runs of values that only frauds have."""
        import numpy
        for name, kind in self.columns:
            if not kind.startswith(("DOUBLE", "BIGINT", "INTEGER", "DECIMAL", "TIMESTAMP")):
                continue
            value = f"epoch_us({name})" if kind.startswith("TIMESTAMP") else name
            rows, frauds = (numpy.array(each) for each in zip(*self.data.sql(
                f"SELECT count(*), sum(is_fraud::INT) FROM t WHERE {name} IS NOT NULL "
                f"GROUP BY {value} ORDER BY {value}").fetchall(), strict=True))
            only = rows == frauds
            edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], only.view(numpy.int8), [0]))))
            for first, last in zip(edges[::2], edges[1::2], strict=True):
                self.judge(f"{name}: values {first} to {last} of {len(rows)}",
                           int(rows[first:last].sum()), int(frauds[first:last].sum()))

    def entities(self) -> None:
        for entity, counted in ENTITIES[self.kind]:
            for least, rows, frauds in self.data.sql(f"""
                WITH users AS (SELECT {entity}, count(DISTINCT {counted}) AS users FROM t
                               WHERE {entity} IS NOT NULL GROUP BY 1),
                     by_users AS (SELECT users, count(*) AS rows, sum(is_fraud::INT) AS frauds
                                  FROM t JOIN users USING ({entity}) GROUP BY 1)
                SELECT users, sum(rows) OVER more, sum(frauds) OVER more FROM by_users
                WINDOW more AS (ORDER BY users DESC)""").fetchall():
                self.judge(f"{entity} with {least} or more of {counted}", rows, frauds)

    def users_of_devices(self) -> None:
        """Numbers of users that only thieves' devices have, however many others have more."""
        for users, rows, frauds in self.data.sql("""
                WITH users AS (SELECT device_id, count(DISTINCT customer_id) AS users FROM t
                               WHERE device_id IS NOT NULL GROUP BY 1)
                SELECT users, count(*), sum(is_fraud::INT) FROM t JOIN users USING (device_id)
                GROUP BY 1""").fetchall():
            self.judge(f"device_id with {users} of customer_id", rows, frauds)

    def same_time(self) -> None:
        customer = "customer_id" if self.kind == "transactions" else "passenger_id"
        rows, frauds = self.data.sql(f"""
            SELECT count(*), coalesce(sum(is_fraud::INT), 0) FROM
            (SELECT is_fraud, count(*) OVER
                (PARTITION BY {customer}, microsecond(timestamp), second(timestamp)) AS n FROM t)
            WHERE n > 1""").fetchall()[0]
        self.judge("rows of one customer with the same microseconds", rows, frauds)

    def noise(self) -> None:
        import numpy
        for name, (digits, entity) in NOISE[self.kind].items():
            rows, frauds = (numpy.array(each, dtype=float) for each in zip(*self.data.sql(
                f"WITH each AS (SELECT {entity}, any_value({digits}) AS digits, "
                "bool_or(is_fraud)::INT AS fraud FROM t GROUP BY 1) "
                "SELECT count(*), sum(fraud) FROM each WHERE digits IS NOT NULL "
                "GROUP BY digits ORDER BY digits").fetchall(), strict=True))
            honest = rows - frauds
            below = numpy.cumsum(honest) - honest
            auc = float((frauds * (below + honest / 2)).sum() / (frauds.sum() * honest.sum()))
            if abs(auc - 0.5) > MAX_AUC - 0.5 + 0.6 / frauds.sum() ** 0.5:
                self.found.append(f"noise: {name}: AUC {auc:.3f} of {frauds.sum():.0f}")

    def days(self) -> None:
        """About as many frauds at both ends of the period as in the middle: they come in bursts."""
        import numpy
        daily = numpy.bincount([day for (day,) in self.data.sql(
            "SELECT date_diff('day', (SELECT min(timestamp) FROM t), timestamp) FROM t WHERE is_fraud"
            ).fetchall()], minlength=365)
        usual = daily[EDGE:-EDGE].mean()
        for name, edge in (("first", daily[:EDGE]), ("last", daily[-EDGE:])):
            if not 0.55 < edge.mean() / usual < 1.6:
                self.found.append(f"days: {edge.mean():.1f} frauds a day in the {name} {EDGE}, "
                                  f"{usual:.1f} otherwise")

    def contradictions(self) -> None:
        """Those that one fraud in thousands causes."""
        rules = self.data.execute(fraudgen.output_of("check", "--sql", "--type", self.kind)).fetchall()
        self.assertGreater(len(rules), 20)
        self.found += [f"contradiction: {rule}: {count} rows" for rule, count in rules if count > 0]

    def mine(self) -> None:
        self.null_patterns()
        self.intervals()
        self.entities()
        if self.kind == "transactions":
            self.users_of_devices()
        self.same_time()
        self.noise()
        self.days()
        names = self.categories()
        for one in names:
            self.groups(one)
        for pair in itertools.combinations(names, 2):
            self.groups(*pair)


class Leaks(Miner):
    def test_no_rule_gives_fraud_away(self) -> None:
        for kind, seed, difficulty in itertools.product(ENTITIES, SEEDS, DIFFICULTIES):
            self.found = []
            self.load(kind, "--rows", ROWS, "--seed", seed, "--difficulty", difficulty)
            self.mine()
            self.contradictions()
            self.assertEqual(self.found, [], f"{kind}, seed {seed}, difficulty {difficulty}")

    def test_finds_rules_of_fifty_rows(self) -> None:
        self.load("rides", "--rows", ROWS)
        planted = (
            ("route_km = -1", self.intervals, "route_km: values"),
            ("weather_condition = 'ASH'", lambda: self.groups("weather_condition"), "= ASH: 50 of 50"),
            ("promo_discount = NULL", self.null_patterns, "(promo_discount IS NULL)"),
            ("device_id = 'DEV_0'", self.entities, "device_id with"),
        )
        self.data.execute("CREATE TABLE sound AS FROM t")
        for change, mine, rule in planted:
            self.data.execute("CREATE OR REPLACE TABLE t AS FROM sound")
            self.data.execute(f"UPDATE t SET {change} WHERE ride_id IN "
                              "(SELECT ride_id FROM t WHERE is_fraud AND status = 'COMPLETED' "
                              f"ORDER BY ride_id LIMIT {MIN_ROWS})")
            self.found = []
            mine()
            with self.subTest(change):
                self.assertTrue(any(rule in each for each in self.found), self.found)


if __name__ == "__main__":
    unittest.main()
