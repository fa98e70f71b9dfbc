"""Reads a data set once into a file of DuckDB, and draws the sample that everything else works on.

`events` has a narrow row per row of the data, in order of time: numbers and 64-bit hashes of identifiers. What is
counted over all rows is counted there, by DuckDB within its `memory_limit`, which spills to disk. `sample` and `wide`
have as many rows as asked for, all columns in `wide`; only these come to Python.
"""

import contextlib
import dataclasses
import datetime
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Optional

import numpy

from . import mapping as mappings
from ._modules import BenchError, load
from .mapping import Mapping

TRAIN_SHARE = 0.7
SCALE = 1_000_000  # of sampling rates


@dataclasses.dataclass(frozen=True)
class Options:
    """What does not depend on the data."""

    rows: int = 1_000_000  #: of the sample
    seed: int = 1
    memory: str = "4GB"  #: DuckDB's limit
    threads: int = 1
    scratch: Optional[str] = None  #: where DuckDB writes; the system's folder for temporary files by default
    progress: Callable[[str], None] = lambda _: None  #: is told each step before it begins


@dataclasses.dataclass
class Data:
    """An open data set."""

    base: Any  #: connection of DuckDB
    place: str
    mapping: Mapping
    options: Options
    rows: int = 0
    frauds: int = 0
    first: Optional[datetime.datetime] = None
    last: Optional[datetime.datetime] = None

    def has(self, column: str) -> bool:
        return column in self.mapping.columns

    def fetch(self, query: str) -> dict[str, Any]:
        """Returns the columns of a query as arrays; a null number is NaN, a null text None."""
        found = {}
        for name, values in self.base.sql(query).fetchnumpy().items():
            found[name] = values
            if isinstance(values, numpy.ma.MaskedArray):
                masked: Any = values
                if masked.dtype.kind == "O":
                    # filled(None) would fill with a question mark.
                    found[name] = numpy.where(numpy.ma.getmaskarray(masked), None, masked.data)
                else:
                    found[name] = masked.astype(float).filled(numpy.nan) if masked.mask.any() else masked.data
        return found

    def one(self, query: str) -> Any:
        return self.base.sql(query).fetchall()[0][0]


def hashed(sql: str) -> str:
    """A 64-bit key of an identifier; 10^8 of them collide with a probability of 3 in 10,000."""
    return f"CASE WHEN ({sql}) IS NULL THEN NULL ELSE hash(({sql})::VARCHAR) END"


def chosen(key: str, salt: str, share: float) -> str:
    """Whether a key is in a sample of this share."""
    return f"hash({key}, '{salt}') % {SCALE} < {round(share * SCALE)}"


def _connect(options: Options, folder: str) -> Any:
    duckdb = load("duckdb")
    base = duckdb.connect(str(pathlib.Path(folder) / "bench.duckdb"))
    try:
        base.execute(f"SET memory_limit = {mappings.quoted(options.memory)}")
    except duckdb.Error as error:
        raise BenchError(f"--memory: {options.memory} is invalid; expected a size such as 4GB") from error
    base.execute(f"SET threads = {options.threads}")
    base.execute(f"SET temp_directory = {mappings.quoted(pathlib.Path(folder) / 'spill')}")
    base.execute("SET enable_progress_bar = false")
    return base


def _source(base: Any, mapping: Mapping, place: str) -> None:
    """Creates the view `source` of all rows with all columns and their key `id_`."""
    for table, reader in mappings.readers(mapping, place).items():
        base.execute(f'CREATE OR REPLACE VIEW "{table}" AS SELECT * FROM {reader}')
    if "id" in mapping.columns:
        key = hashed(mapping.columns["id"])
    else:
        # Rows are numbered as they are read, which the order of insertion keeps.
        key = "hash(row_number() OVER ())"
    base.execute(f"CREATE OR REPLACE VIEW source AS SELECT {key} AS id_, * FROM {mapping.source}")


def _bind(base: Any, mapping: Mapping, place: str) -> None:
    """Creates `source`, and checks each expression of the mapping by itself."""
    duckdb = load("duckdb")
    try:
        _source(base, mapping, place)
    except duckdb.Error as error:
        raise BenchError(f"{place} does not fit mapping {mapping.name}: {_first_line(error)}") from error
    used = [*mapping.columns.items(), *mapping.shared.items()]
    # All at once first, because the types of text files are found anew by each query.
    with contextlib.suppress(duckdb.Error):
        base.sql(f"SELECT {', '.join(f'({sql})' for _, sql in used)} FROM source")
        return
    for name, sql in used:
        try:
            base.sql(f"SELECT {sql} FROM source")
        except duckdb.Error as error:
            raise BenchError(f"{place} does not fit mapping {mapping.name}: {name} = {sql}: "
                             f"{_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def choose_mapping(place: str, name: Optional[str]) -> Mapping:
    """Returns the named mapping, or the first of those shipped that the data fit."""
    if name is not None:
        return mappings.read_mapping(name)
    mappings.check_place(place)
    base = load("duckdb").connect()
    for each in mappings.NAMES:
        mapping = mappings.read_mapping(each)
        with contextlib.suppress(BenchError):
            _bind(base, mapping, place)
            return mapping
    raise BenchError(f"{place}: none of the shipped mappings fits ({', '.join(mappings.NAMES)}); write one for these "
                     "columns, and give it by --mapping FILE (docs/fraud-bench.md)")


def _load_events(data: Data) -> None:
    duckdb = load("duckdb")
    columns, shared = data.mapping.columns, data.mapping.shared
    parts = ["id_ AS id", f"epoch_us(({columns['time']})::TIMESTAMP) AS us", f"({columns['label']})::BOOLEAN AS label"]
    for name in ("customer", "receiver", "ring"):
        parts.append(f"{hashed(columns[name])} AS {name}" if name in columns else f"NULL::UBIGINT AS {name}")
    parts += [f"{hashed(sql)} AS shared_{place}" for place, sql in enumerate(shared.values())]
    parts.append(f"({columns['amount']})::DOUBLE AS amount" if "amount" in columns else "NULL::DOUBLE AS amount")
    parts.append(f"epoch_us(({columns['reported']})::TIMESTAMP) AS reported" if "reported" in columns
                 else "NULL::BIGINT AS reported")
    try:
        data.base.execute(f"CREATE TABLE events AS SELECT {', '.join(parts)} FROM source ORDER BY us, id")
    except duckdb.Error as error:
        raise BenchError(f"{data.place}, mapping {data.mapping.name}: {_first_line(error)}") from error


def _check_events(data: Data) -> None:
    data.rows, frauds, no_time, no_label, first, last = data.base.sql(
        "SELECT count(*), count(*) FILTER (label), count(*) FILTER (us IS NULL), count(*) FILTER (label IS NULL), "
        "make_timestamp(min(us)), make_timestamp(max(us)) FROM events").fetchall()[0]
    data.frauds, data.first, data.last = frauds, first, last
    where = f"{data.place}, mapping {data.mapping.name}"
    for name, count in (("time", no_time), ("label", no_label)):
        if count:
            raise BenchError(f"{where}: {name} = {data.mapping.columns[name]} is null in {count} of {data.rows} rows")
    if frauds == 0 or frauds == data.rows:
        raise BenchError(f"{where}: {frauds} of {data.rows} rows are frauds by label = "
                         f"{data.mapping.columns['label']}; both kinds are needed")


def _draw_sample(data: Data) -> None:
    """All frauds, up to half of the sample, and honest rows, whose weights make up for those left out."""
    wanted = min(data.options.rows, data.rows)
    frauds = min(1.0, wanted / 2 / data.frauds)
    honest = min(1.0, (wanted - frauds * data.frauds) / (data.rows - data.frauds))
    salt = f"sample {data.options.seed}"
    data.base.execute(f"""
        CREATE TABLE sample AS
        SELECT rowid AS place, *, CASE WHEN label THEN {1 / frauds} ELSE {1 / honest} END AS weight
        FROM events WHERE CASE WHEN label THEN {chosen('id', salt, frauds)} ELSE {chosen('id', salt, honest)} END
        ORDER BY place""")
    keep = f"({data.mapping.columns['label']})::BOOLEAN"
    extra = [f"({data.mapping.columns[name]})::VARCHAR AS {name}_" for name in ("kind", "role") if data.has(name)]
    # In the order of `sample`, which scans of a table keep.
    data.base.execute(f"""
        CREATE TABLE wide AS SELECT s.place AS place_, s.us AS us_, w.* FROM sample s JOIN (
          SELECT {', '.join(['*', *extra])} FROM source
          WHERE CASE WHEN {keep} THEN {chosen('id_', salt, frauds)} ELSE {chosen('id_', salt, honest)} END) w
        ON w.id_ = s.id ORDER BY place_""")
    sampled, distinct, wide = data.base.sql(
        "SELECT (SELECT count(*) FROM sample), (SELECT count(DISTINCT id) FROM sample), (SELECT count(*) FROM wide)"
        ).fetchall()[0]
    if not sampled == distinct == wide:
        raise BenchError(f"{data.place}, mapping {data.mapping.name}: id = {data.mapping.columns.get('id', 'row')} is "
                         f"not unique: {distinct} values in {sampled} rows")


@contextlib.contextmanager
def open_data(place: str, mapping: Mapping, options: Options) -> Iterator[Data]:
    """Reads the data at `place`; what DuckDB writes is removed at the end."""
    if not 1_000 <= options.rows:
        raise BenchError(f"--sample: {options.rows} rows are too few; expected 1000 or more")
    with tempfile.TemporaryDirectory(prefix="fraudgen-bench-", dir=options.scratch) as folder:
        data = Data(_connect(options, folder), place, mapping, options)
        try:
            _bind(data.base, mapping, place)
            options.progress(f"reading {place} by mapping {mapping.name}")
            _load_events(data)
            _check_events(data)
            options.progress(f"drawing a sample of {data.rows:,} rows, {data.frauds:,} of them frauds")
            _draw_sample(data)
            yield data
        finally:
            data.base.close()
