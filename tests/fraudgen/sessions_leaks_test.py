"""No simple rule over log-ins gives the frauds of the coherent model away, at the default difficulty.

  sessions_leaks_test.py FRAUDGEN

Each payment is joined with its session and with what the account's log-ins before it say: how long ago each event was,
and how many sessions, failures and devices there were; and how many accounts a device and an address logged in to in
the whole period, of which, as in leaks_test.py, only "so many or more" is a rule. Rules are as there, with thresholds
of the numbers, three flags at a time, and leaves of trees.
"""

import importlib.util
import itertools
import unittest

import fraudgen
from leaks_test import LONG, MIN_ROWS, MISSING, Miner

ROWS = 1_000_000 if LONG else 100_000
SEEDS = (1, 2, 3) if LONG else (1, 2)

EVENTS = ("device_registered", "sim_changed", "password_reset", "limit_requested", "pix_key_added", "remote_access",
          "failed", "elsewhere")
# What is soon before a payment, in minutes.
SOON = 240
COUNTED = {"1 day": "24h", "7 days": "7d"}
# Of the whole period.
TOTALS = tuple(f"{what}_of_{entity}" for entity in ("device_id", "ip_address")
               for what in ("customers", "failed_customers", "sessions"))

# Log-ins and payments of each account in order of time; a session with a device that is not in `devices` yet is
# "elsewhere".
HISTORY = """
    CREATE TABLE moments AS
    SELECT s.customer_id, s.started_at AS moment, 0 AS is_payment, s.session_id AS id, s.device_id,
           {flags}, (s.outcome = 'FAILED') AS failed,
           (s.device_id IS NOT NULL AND (d.first_use IS NULL OR d.first_use > s.started_at + INTERVAL 4 MINUTE))
             AS elsewhere, s.failed_attempts AS attempts
    FROM sessions s LEFT JOIN devices d ON d.device_id = s.device_id AND d.customer_id = s.customer_id
    UNION ALL
    SELECT customer_id, timestamp, 1, transaction_id, device_id, {falses}, false, false, 0 FROM transactions"""


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class SessionsLeaks(Miner):
    def load(self, *arguments: object) -> None:
        self.open("--sessions", *arguments)
        of_session = [each for each in EVENTS if each not in ("failed", "elsewhere")]
        self.data.execute(HISTORY.format(flags=", ".join(f"s.{each}" for each in of_session),
                                         falses=", ".join("false" for _ in of_session)))
        since = ", ".join(
            f"date_diff('second', max(CASE WHEN {each} THEN moment END) OVER past, moment) // 60 AS since_{each}"
            for each in EVENTS)
        counts = ", ".join(f"sum({what}) OVER last_{name} AS {column}_{name}" for name in COUNTED.values()
                           for column, what in (("sessions", "1 - is_payment"), ("failures", "failed::INT"),
                                                ("attempts", "attempts"), ("elsewhere", "elsewhere::INT")))
        windows = ", ".join(f"last_{name} AS (PARTITION BY customer_id ORDER BY moment "
                            f"RANGE BETWEEN INTERVAL {span} PRECEDING AND CURRENT ROW)"
                            for span, name in COUNTED.items())
        self.data.execute(f"""
            CREATE TABLE history AS SELECT * FROM (
              SELECT id, is_payment, {since}, {counts},
                     sum(CASE WHEN is_payment = 0 THEN 1 ELSE 0 END) OVER
                       (PARTITION BY customer_id, device_id ORDER BY moment, is_payment) AS sessions_of_device
              FROM moments WINDOW past AS (PARTITION BY customer_id ORDER BY moment, is_payment), {windows})
            WHERE is_payment = 1""")
        for entity in ("device_id", "ip_address"):
            self.data.execute(f"""
                CREATE TABLE by_{entity} AS SELECT {entity}, count(DISTINCT customer_id) AS customers_of_{entity},
                  count(DISTINCT CASE WHEN outcome = 'FAILED' THEN customer_id END) AS failed_customers_of_{entity},
                  count(*) AS sessions_of_{entity} FROM sessions WHERE {entity} IS NOT NULL GROUP BY 1""")
        self.data.execute(f"""
            CREATE TABLE t AS
            SELECT p.is_fraud, p.timestamp, p.type, p.channel, p.status, p.new_beneficiary, p.unusual_time,
                   s.authentication, s.failed_attempts, {', '.join(f's.{each}' for each in of_session)},
                   date_diff('second', s.started_at, p.timestamp) AS seconds_of_session,
                   (hour(p.timestamp) < 6 OR hour(p.timestamp) >= 20) AS at_night,
                   {', '.join(f'coalesce(h.since_{each} <= {SOON}, false) AS soon_{each}' for each in EVENTS)},
                   h.* EXCLUDE (id, is_payment), d.* EXCLUDE (device_id), i.* EXCLUDE (ip_address)
            FROM transactions p LEFT JOIN sessions s ON s.session_id = p.session_id
              JOIN history h ON h.id = p.transaction_id
              LEFT JOIN by_device_id d ON d.device_id = p.device_id
              LEFT JOIN by_ip_address i ON i.ip_address = p.ip_address""")
        self.describe()
        self.totals = [each for each in self.columns if each[0] in TOTALS]
        self.columns = [each for each in self.columns if each[0] not in TOTALS]

    def thresholds(self) -> None:
        """Whether nearly all rows below or above a value are fraud."""
        import numpy
        for name, kind in self.columns + self.totals:
            if not kind.startswith(("DOUBLE", "BIGINT", "INTEGER", "HUGEINT", "UTINYINT", "DECIMAL")):
                continue
            rows, frauds = (numpy.array(each, dtype=float) for each in zip(*self.data.sql(
                f"SELECT count(*), sum(is_fraud::INT) FROM t WHERE {name} IS NOT NULL GROUP BY {name} "
                f"ORDER BY {name}").fetchall(), strict=True))
            for side, order in (("at least", slice(None, None, -1)), ("at most", slice(None))):
                if side == "at most" and name in TOTALS:
                    continue
                some, bad = rows[order].cumsum(), frauds[order].cumsum()
                for place in numpy.flatnonzero((some >= MIN_ROWS) & (bad >= 0.95 * some))[-1:]:
                    self.judge(f"{name} {side} its value {place}", int(some[place]), int(bad[place]))

    def flags(self) -> list[str]:
        return [name for name, kind in self.columns if kind == "BOOLEAN"]

    def trees(self) -> None:
        """Leaves of trees of depth 3, of all rows and of those soon after an event."""
        if importlib.util.find_spec("sklearn") is None:
            return
        import numpy
        from sklearn.tree import DecisionTreeClassifier
        names = [name for name, kind in self.columns if kind not in ("VARCHAR", "TIMESTAMP")]
        for condition in ("true", *(f"soon_{each}" for each in EVENTS)):
            columns = self.data.sql(f"SELECT is_fraud, {', '.join(names)} FROM t WHERE {condition}").fetchnumpy()
            fraud = numpy.asarray(columns.pop("is_fraud"), dtype=bool)
            values = numpy.column_stack([numpy.ma.filled(numpy.ma.asarray(columns[name]).astype(float), -1)
                                         for name in names])
            tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=MIN_ROWS, class_weight="balanced",
                                          random_state=1)
            leaves = tree.fit(values, fraud).apply(values)
            for leaf in numpy.unique(leaves):
                self.judge(f"leaf {leaf} of the tree where {condition}", int((leaves == leaf).sum()),
                           int(fraud[leaves == leaf].sum()))

    def judge(self, rule: str, rows: int, frauds: int) -> None:
        # What covers many rows without a fraud is a finding of leaks_test.py.
        if frauds > 0:
            super().judge(rule, rows, frauds)

    def mine(self) -> None:
        self.null_patterns()
        self.intervals()
        self.thresholds()
        self.trees()
        for pair in itertools.combinations(self.categories(), 2):
            self.groups(*pair)
        for three in itertools.combinations(self.flags(), 3):
            self.groups(*three)

    def test_no_rule_gives_fraud_away(self) -> None:
        for seed in SEEDS:
            self.found = []
            self.load("--rows", ROWS, "--seed", seed)
            self.mine()
            self.assertEqual(self.found, [], f"seed {seed}")

    def test_finds_rules_of_fifty_rows(self) -> None:
        self.load("--rows", ROWS // 2)
        planted = (
            ("failed_attempts = 99", MIN_ROWS, self.thresholds, "failed_attempts at least"),
            ("customers_of_ip_address = 99999", MIN_ROWS, self.thresholds, "customers_of_ip_address at least"),
            ("authentication = 'KEY'", MIN_ROWS, lambda: self.groups("authentication"), "= KEY: 50 of 50"),
            ("seconds_of_session = -1", MIN_ROWS, self.intervals, "seconds_of_session: values"),
            ("since_remote_access = -5", 10 * MIN_ROWS, self.trees, "leaf"),
        )
        self.data.execute("CREATE TABLE sound AS SELECT *, row_number() OVER (PARTITION BY is_fraud) AS place FROM t")
        for change, rows, mine, rule in planted:
            self.data.execute("CREATE OR REPLACE TABLE t AS FROM sound")
            self.data.execute(f"UPDATE t SET {change} WHERE is_fraud AND place <= {rows}")
            self.data.execute("ALTER TABLE t DROP place")
            self.found = []
            mine()
            with self.subTest(change):
                self.assertTrue(any(rule in each for each in self.found), self.found)


if __name__ == "__main__":
    unittest.main()
