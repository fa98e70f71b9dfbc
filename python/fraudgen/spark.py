"""Rows as a data source of Spark 4, batch and streaming.

::

    spark.dataSource.register(fraudgen.spark.FraudgenDataSource)
    spark.read.format("fraudgen").options(rows=10**9).load()

Each partition is a shard, whose rows are those that the program writes for `--shard`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, cast

try:
    import pyarrow  # type: ignore[import-untyped]
    from pyspark.sql.datasource import (  # type: ignore[import-not-found]
        DataSource, DataSourceReader, DataSourceStreamReader, InputPartition)
    from pyspark.sql.pandas.types import from_arrow_schema  # type: ignore[import-not-found]
    from pyspark.sql.streaming.datasource import (  # type: ignore[import-not-found]
        ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow)
    from pyspark.sql.types import StructType  # type: ignore[import-not-found]
except ImportError as error:
    raise ImportError(f"fraudgen.spark needs PySpark 4.2 or later ({error}): pip install 'fraudgen[spark]'") from error

from fraudgen import Settings
from fraudgen._shards import ShardedTable, plan, shard_count

__all__ = ["FraudgenDataSource"]

# Options beside the settings; Spark passes all names in lower case.
_SHARDS = "shards"
_PER_TRIGGER = "maxshardspertrigger"


@dataclasses.dataclass
class _ShardPartition(InputPartition):  # type: ignore[misc]
    """A shard, counted from 0."""

    index: int


def _settings(options: Mapping[str, str]) -> Settings:
    known = set(Settings.__annotations__) - {"shard"}
    unknown = options.keys() - known - {_SHARDS, _PER_TRIGGER}
    if unknown:
        raise ValueError(f"unknown option '{min(unknown)}'; use some of {', '.join(sorted(known))}, shards, "
                         "maxShardsPerTrigger")
    settings: dict[str, object] = {name: text for name, text in options.items() if name in known}
    for name in settings.keys() & {"columns", "scenario"}:
        settings[name] = [each.strip() for each in options[name].split(",")]
    return cast(Settings, settings)


def _plain_type(of: Any) -> Any:
    """Returns the type that Spark reads: it has no dictionaries."""
    return of.value_type if pyarrow.types.is_dictionary(of) else of


def _plain_schema(schema: Any) -> Any:
    return pyarrow.schema([field.with_type(_plain_type(field.type)) for field in schema])


def _batches(table: ShardedTable, index: int) -> Iterator[Any]:
    schema = _plain_schema(table.schema)
    for batch in table.read(index):
        columns = [column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column
                   for column in batch.columns]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


class _Reader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, table: ShardedTable) -> None:
        self._table = table

    def partitions(self) -> Sequence[InputPartition]:
        return [_ShardPartition(index) for index in range(self._table.shards)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _batches(self._table, cast(_ShardPartition, partition).index)


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Its offsets count the shards that were delivered. It keeps no state, so that a query can be resumed."""

    def __init__(self, table: ShardedTable, per_trigger: Optional[int]) -> None:
        self._table = table
        self._per_trigger = per_trigger

    def _offset(self, shard: int) -> dict[str, object]:
        return {"shard": shard, "shards": self._table.shards, "rows": self._table.fingerprint()}

    def _shard(self, offset: dict[str, object]) -> int:
        if offset.get("rows") != self._table.fingerprint():
            raise ValueError("the checkpoint is of other rows or shards; resume the query with its original options "
                             "and version of fraudgen, or choose another checkpointLocation")
        return cast(int, offset["shard"])

    def initialOffset(self) -> dict[str, object]:
        return self._offset(0)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxFiles(self._per_trigger) if self._per_trigger else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Has nothing to do: all shards are available from the beginning."""

    def reportLatestOffset(self) -> dict[str, object]:
        return self._offset(self._table.shards)

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:
        end = self._table.shards
        if isinstance(limit, ReadMaxFiles):
            end = min(end, self._shard(start) + limit.max_files)
        return self._offset(end)

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        return [_ShardPartition(index) for index in range(self._shard(start), self._shard(end))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _batches(self._table, cast(_ShardPartition, partition).index)


class FraudgenDataSource(DataSource):  # type: ignore[misc]
    """`spark.read.format("fraudgen")`. Options are the settings of `fraudgen.generate`, `shards`, the number of
    partitions, and for `spark.readStream` `maxShardsPerTrigger`. All are checked before a task runs."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._table = plan(_settings(options), options.get(_SHARDS))

    @classmethod
    def name(cls) -> str:
        return "fraudgen"

    def schema(self) -> StructType:
        return from_arrow_schema(_plain_schema(self._table.schema))

    def _check(self, schema: StructType) -> None:
        if schema != self.schema():
            raise ValueError("the schema follows from the options: do not give one; option 'columns' chooses columns")

    def reader(self, schema: StructType) -> DataSourceReader:
        self._check(schema)
        return _Reader(self._table)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        self._check(schema)
        per_trigger = self.options.get(_PER_TRIGGER)
        return _StreamReader(self._table, None if per_trigger is None else shard_count(per_trigger))
