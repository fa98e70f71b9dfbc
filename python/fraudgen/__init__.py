"""Synthetic Brazilian bank and ride data with labelled fraud, as streams of Arrow.

Settings have the names and meanings of the options of the program `fraudgen`, and the same settings
give the same rows.

>>> import fraudgen
>>> fraudgen.stream(rows=1000, columns=["amount", "is_fraud"]).to_polars().shape
(1000, 2)

Examples of checks are of the folder ``data`` that ``fraudgen --rows 1000 --format csv --output data`` makes, and of
``changed``, a copy in which the amount of a transaction was changed.
"""

from __future__ import annotations

import datetime
import functools
import importlib
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union

if sys.version_info < (3, 10):
    raise ImportError("the Python package fraudgen needs Python 3.10 or later; the program fraudgen runs with any")

from fraudgen import _native
from fraudgen._check import Check, CheckResult, Difference, FileDifferences, check
from fraudgen._croissant import croissant
from fraudgen._graph import to_torch_geometric

if TYPE_CHECKING:
    from typing import Unpack

    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-untyped]

__all__ = [
    "Check", "CheckResult", "Column", "Difference", "FileDifferences", "Settings", "Stream", "Table", "check",
    "croissant", "generate", "schema", "stream", "to_torch_geometric",
]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    >>> amount = next(column for column in fraudgen.schema()["transactions"].columns if column.name == "amount")
    >>> amount.type, amount.decimal_places, amount.unit
    ('decimal', 2, 'BRL')
    """

    name: str
    type: str  #: text, category, boolean, integer, decimal, date or timestamp (local time, UTC-3)
    decimal_places: int  #: of a decimal
    unit: str  #: such as BRL or km, or ""
    nullable: bool
    values: tuple[str, ...]  #: of a category
    meaning: str
    source: str  #: how values are generated


@dataclass(frozen=True)
class Table:
    """A table of the data.

    >>> len(fraudgen.schema()["customers"].columns)
    16
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]


class Settings(TypedDict, total=False):
    """What to generate. All have the defaults of the program.

    >>> settings: fraudgen.Settings = {"rows": 1000, "fraud_rate": 0.05, "difficulty": "hard"}
    >>> fraudgen.stream(**settings).to_polars()["is_fraud"].sum()
    50
    """

    rows: Union[int, str]  #: exact number of transactions, of rides, or of each, such as 1000 or "5M"
    table: str  #: default: transactions, or rides
    columns: Sequence[str]  #: in this order; default: all
    model: str  #: coherent (simulated lives) or classic (independent rows)
    type: str  #: transactions, rides or all
    seed: int
    size: str  #: bytes of all tables as Arrow files, such as "1GB", in place of rows
    fraud_rate: Union[float, str]  #: exact share of fraudulent rows, or "real"
    difficulty: Union[float, str]  #: how hard fraud is to detect: easy, medium, hard or 0 to 1
    customers: Union[int, str]
    start_date: Union[datetime.date, str]
    end_date: Union[datetime.date, str]
    as_of: Union[datetime.date, str]  #: reference day for ages, of the classic model
    labels_as_of: Union[datetime.date, str]  #: labels that the bank had at the end of this day; default: all
    profiles: bool  #: behavioural profiles of customers, of the classic model
    identities: str  #: valid or safe
    sessions: bool  #: also the table sessions: log-ins
    graph: bool  #: also the tables nodes and edges
    defects: Union[str, Sequence[str]]  #: such as "late=0.01,duplicate"
    money: str  #: float, decimal or cents
    #: files of kinds of fraud, or one
    scenario: Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]
    shard: str  #: part of the rows: "3/8" is the third of eight, as of the program's `--shard`


def _imported(package: str) -> Any:
    """Returns a package that only some functions need."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"this needs {package}: pip install {package}") from error


class Stream:
    """Rows for any reader of Arrow streams: ``polars.DataFrame(stream)``, DuckDB, pyarrow.

    They are generated again for each reader: DuckDB asks twice, first for the schema.

    >>> rows = fraudgen.stream(rows=1000)
    >>> import duckdb
    >>> duckdb.sql("SELECT count(*) FROM rows").fetchall()
    [(1000,)]
    """

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._first: Optional[object] = make()  # what is wrong with the settings is said at once

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hands the rows over (Arrow's PyCapsule interface)."""
        capsule, self._first = self._first, None
        return self._make() if capsule is None else capsule

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """Returns a reader of pyarrow, whose batches are made while they are read.

        >>> fraudgen.stream(rows=1000).to_reader().read_next_batch().num_rows
        1000
        """
        return _imported("pyarrow").RecordBatchReader.from_stream(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the rows as a data frame of pandas; needs pyarrow too.

        >>> frame = fraudgen.stream(rows=1000).to_pandas()
        >>> round(float(frame.is_fraud.mean()), 3)
        0.02
        """
        _imported("pandas")
        return self.to_reader().read_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Returns the rows as a data frame of Polars.

        >>> fraudgen.stream(rows=1000, columns=["amount"]).to_polars().columns
        ['amount']
        """
        return _imported("polars").DataFrame(self)


def _text(value: object) -> str:
    """Returns a setting as in a configuration file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)


def _texts(settings: Settings) -> dict[str, str]:
    """Returns the settings of the data as the module takes them."""
    unknown = settings.keys() - Settings.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown setting '{min(unknown)}'; use some of {', '.join(Settings.__annotations__)}")
    others = ("table", "columns", "shard", "scenario")
    texts = {name: _text(value) for name, value in settings.items() if name not in others and value is not None}
    files = settings.get("scenario") or ()
    # Read here: workers elsewhere may not have the files.
    scenarios = {f"scenario {os.fspath(file)}": pathlib.Path(file).read_text(encoding="utf-8")
                 for file in ([files] if isinstance(files, (str, os.PathLike)) else files)}
    return {**texts, **scenarios, "format": "arrow"}


def _columns(settings: Settings) -> list[str]:
    columns = settings.get("columns") or ()
    if isinstance(columns, str):
        raise TypeError(f"columns is a text; pass a list, such as ['{columns}']")
    return list(columns)


def stream(**settings: Unpack[Settings]) -> Stream:
    """Returns the rows of one table, made while they are read, for any reader of Arrow streams.

    >>> fraudgen.stream(rows=500, type="rides", seed=7).to_polars().height
    500
    """
    return Stream(functools.partial(_native.generate, _texts(settings), settings.get("table") or "",
                                    _columns(settings), settings.get("shard") or "1/1"))


def generate(**settings: Unpack[Settings]) -> pyarrow.RecordBatchReader:
    """Returns the rows of one table as a reader of pyarrow, made while they are read.

    The rows are those that the program writes for the same settings, in batches of 65,536; at most four batches are
    in memory. It is pyarrow's own class, which has no room for methods of ours: data frames are from
    ``generate(...).read_pandas()``, ``polars.DataFrame(generate(...))``, or :meth:`Stream.to_pandas` and
    :meth:`Stream.to_polars` of :func:`stream`.

    >>> [batch.num_rows for batch in fraudgen.generate(rows=100_000, model="classic", columns=["amount"])]
    [65536, 34464]
    """
    return stream(**settings).to_reader()


def schema(**settings: Unpack[Settings]) -> dict[str, Table]:
    """Returns the tables that these settings generate, by name, with the meaning of their columns.

    >>> set(fraudgen.schema(graph=True, sessions=True)) - set(fraudgen.schema()) == {"sessions", "nodes", "edges"}
    True
    """
    return {row["name"]: Table(row["name"], row["meaning"], tuple(Column(**each) for each in row["columns"]))
            for row in _native.schema(_texts(settings))}
