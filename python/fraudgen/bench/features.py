"""Features of the sampled rows: the columns of the data, and what the graph of payments before each row says.

The graph's features follow the idea of arXiv:2402.08593, to give boosting counts of the patterns around a payment:
fan-in of the receiver, fan-out of the customer, users of a device, money that passes through an account, and money
that comes back. Each is a window over all earlier rows, computed by DuckDB.
"""

import dataclasses
from typing import Any

import numpy
from numpy.typing import NDArray

from ._modules import load
from .data import Data

Floats = NDArray[numpy.float32]
MAX_CATEGORIES = 64  # distinct values of a text that is a feature
HOUR = 3_600_000_000
DAY = 24 * HOUR
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
           "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")
TIMES = ("TIMESTAMP", "DATE")
INTERNAL = ("id_", "place_", "us_", "kind_", "role_")


@dataclasses.dataclass
class Features:
    """A matrix with names; `names[:columns]` are of the data, the others of the graph."""

    names: list[str]
    values: Floats
    categories: dict[str, list[str]]  #: values of the texts, by feature
    columns: int

    def indices(self, graph: bool) -> list[int]:
        return list(range(len(self.names) if graph else self.columns))

    def categorical(self, graph: bool) -> list[int]:
        return [place for place in self.indices(graph) if self.names[place] in self.categories]


def identifiers(data: Data) -> list[str]:
    """Returns the texts that have too many values to be features."""
    return [name for name, kind in _columns(data) if not kind.startswith((*NUMBERS, *TIMES))
            and _distinct(data, name) > MAX_CATEGORIES]


def _uses(data: Data, sql: str, column: str) -> bool:
    """Whether an expression has no meaning without a column."""
    if column.lower() not in sql.lower():
        return False
    try:
        data.base.sql(f'SELECT {sql} FROM (SELECT * EXCLUDE ("{column}") FROM wide)')
    except load("duckdb").Error:
        return True
    return False


def _columns(data: Data) -> list[tuple[str, str]]:
    """Returns the columns that may be features: neither labels nor what labels are made of."""
    labels = [data.mapping.columns[name] for name in ("label", "kind", "role", "ring", "reported") if data.has(name)]
    return [(name, kind) for name, kind, *_ in data.base.sql("DESCRIBE wide").fetchall()
            if name not in INTERNAL and name not in data.mapping.ignore
            and not any(_uses(data, sql, name) for sql in labels)
            and not kind.startswith(("STRUCT", "MAP", "INTERVAL", "TIME ")) and not kind.endswith("]")]


def _distinct(data: Data, name: str) -> int:
    return int(data.one(f'SELECT count(DISTINCT "{name}") FROM wide'))


def _of_columns(data: Data) -> tuple[list[str], list[Any], dict[str, list[str]]]:
    names: list[str] = []
    values: list[Any] = []
    categories: dict[str, list[str]] = {}

    def add(name: str, sql: str) -> None:
        found = data.fetch(f"SELECT {sql} AS v FROM wide")["v"]
        names.append(name)
        values.append(found.astype(numpy.float32))

    for name, kind in _columns(data):
        if kind.startswith(TIMES):
            seconds = f'(epoch_us("{name}"::TIMESTAMP) - us_) / 1000000.0'
            if data.one(f"SELECT count(*) FROM wide WHERE {seconds} <> 0"):
                add(name, seconds)
        elif kind.startswith(NUMBERS):
            add(name, f'"{name}"::DOUBLE')
        elif 1 < _distinct(data, name) <= MAX_CATEGORIES:
            listed = [row[0] for row in data.base.sql(
                f'SELECT DISTINCT "{name}"::VARCHAR FROM wide WHERE "{name}" IS NOT NULL ORDER BY 1').fetchall()]
            categories[name] = listed
            quoted = ", ".join("'" + each.replace("'", "''") + "'" for each in listed)
            add(name, f'(list_position([{quoted}], "{name}"::VARCHAR) - 1)::DOUBLE')
    add("hour", "hour(make_timestamp(us_))::DOUBLE")
    add("weekday", "dayofweek(make_timestamp(us_))::DOUBLE")
    return names, values, categories


def _windows(data: Data) -> list[tuple[str, list[str]]]:
    """Returns queries of `id` and features, and the names of the features."""
    before = "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    found = []
    if data.has("customer"):
        found.append((f"""
            SELECT id, count(*) OVER hour AS customer_rows_1h, count(*) OVER day AS customer_rows_24h,
              sum(amount) OVER day AS customer_amount_24h, amount / nullif(avg(amount) OVER past, 0) AS amount_to_mean,
              (us - max(us) OVER past) / 1e6 AS customer_gap
            FROM events WHERE customer IS NOT NULL
            WINDOW past AS (PARTITION BY customer ORDER BY us {before}),
              hour AS (PARTITION BY customer ORDER BY us RANGE BETWEEN {HOUR} PRECEDING AND 1 PRECEDING),
              day AS (PARTITION BY customer ORDER BY us RANGE BETWEEN {DAY} PRECEDING AND 1 PRECEDING)""",
                      ["customer_rows_1h", "customer_rows_24h", "customer_amount_24h", "amount_to_mean",
                       "customer_gap"]))
    keys = [f"shared_{place}" for place in range(len(data.mapping.shared))]
    labels = list(data.mapping.shared)
    if data.has("receiver"):
        keys.insert(0, "receiver")
        labels.insert(0, "receiver")
    for key, label in zip(keys, labels, strict=True):
        if data.has("customer"):
            found.append(_fan(key, label))
    if data.has("customer") and data.has("receiver"):
        found.append((f"""
            SELECT id, sum(first::INT) OVER past AS customer_receivers, sum(first::INT) OVER day AS new_receivers_24h
            FROM (SELECT id, us, customer,
                    row_number() OVER (PARTITION BY customer, receiver ORDER BY us, id) = 1 AS first
                  FROM events WHERE receiver IS NOT NULL AND customer IS NOT NULL)
            WINDOW past AS (PARTITION BY customer ORDER BY us {before}),
              day AS (PARTITION BY customer ORDER BY us RANGE BETWEEN {DAY} PRECEDING AND 1 PRECEDING)""",
                      ["customer_receivers", "new_receivers_24h"]))
        if data.one("SELECT count(*) FROM (SELECT receiver FROM events INTERSECT SELECT customer FROM events) "
                    "WHERE receiver IS NOT NULL"):
            found += _flow(before)
    return found


def _fan(key: str, label: str) -> tuple[str, list[str]]:
    """Rows, customers and times of a receiver, a device or an address before each row."""
    names = [f"{label}_{each}" for each in ("rows", "customers", "gap", "rows_by_customer")]
    return (f"""
        SELECT id, count(*) OVER past AS {names[0]}, sum(first::INT) OVER past AS {names[1]},
          (us - max(us) OVER past) / 1e6 AS {names[2]}, earlier AS {names[3]}
        FROM (SELECT id, us, {key}, row_number() OVER pair = 1 AS first, row_number() OVER pair - 1 AS earlier
              FROM events WHERE {key} IS NOT NULL AND customer IS NOT NULL
              WINDOW pair AS (PARTITION BY {key}, customer ORDER BY us, id))
        WINDOW past AS (PARTITION BY {key} ORDER BY us RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)""", names)


def _flow(before: str) -> list[tuple[str, list[str]]]:
    """Money that an account received before it pays, and money that goes back and forth."""
    through = ["received", "received_gap", "amount_of_received_24h"]
    back = ["paid_back"]
    return [(f"""
        SELECT id, received, received_gap, amount / nullif(received_24h, 0) AS amount_of_received_24h
        FROM (SELECT id, gets, amount, count(*) FILTER (gets) OVER past AS received,
                (us - max(us) FILTER (gets) OVER past) / 1e6 AS received_gap,
                sum(amount) FILTER (gets) OVER day AS received_24h
              FROM (SELECT id, us, customer AS node, false AS gets, amount FROM events WHERE customer IS NOT NULL
                    UNION ALL
                    SELECT id, us, receiver, true, amount FROM events WHERE receiver IS NOT NULL)
              WINDOW past AS (PARTITION BY node ORDER BY us {before}),
                day AS (PARTITION BY node ORDER BY us RANGE BETWEEN {DAY} PRECEDING AND 1 PRECEDING))
        WHERE NOT gets""", through), (f"""
        SELECT id, CASE WHEN customer > receiver THEN count(*) FILTER (customer < receiver) OVER past
          ELSE count(*) FILTER (customer > receiver) OVER past END AS paid_back
        FROM events WHERE customer IS NOT NULL AND receiver IS NOT NULL
        WINDOW past AS (PARTITION BY least(customer, receiver), greatest(customer, receiver)
          ORDER BY us {before})""", back)]


def make_features(data: Data) -> Features:
    data.options.progress("features of the columns")
    names, values, categories = _of_columns(data)
    columns = len(names)
    for query, made in _windows(data):
        data.options.progress(f"features of the graph: {', '.join(made)}")
        found = data.fetch(f"""
            SELECT {', '.join(f'f.{name}::DOUBLE AS {name}' for name in made)} FROM sample s LEFT JOIN
            (SELECT * FROM ({query}) WHERE id IN (SELECT id FROM sample)) f ON f.id = s.id ORDER BY s.place""")
        for name in made:
            names.append(name)
            values.append(found[name].astype(numpy.float32))
    return Features(names, numpy.column_stack(values), categories, columns)
