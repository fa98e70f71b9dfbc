"""Rows as a data set of Ray: ``fraudgen.ray.read(rows=10**9)``.

Each read task is a shard, whose rows are those that the program writes for `--shard`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

try:
    import pyarrow  # type: ignore[import-untyped]
    import ray  # type: ignore[import-not-found]
    from ray.data import Dataset, Datasource  # type: ignore[import-not-found]
    from ray.data.block import BlockMetadata  # type: ignore[import-not-found]
    from ray.data.datasource import ReadTask  # type: ignore[import-not-found]
except ImportError as error:
    raise ImportError(f"fraudgen.ray needs Ray Data ({error}): pip install 'fraudgen[ray]'") from error

from fraudgen._shards import ShardedTable, plan

if TYPE_CHECKING:
    from typing import Unpack

    from fraudgen import Settings

__all__ = ["FraudgenDatasource", "read"]


def _tables(table: ShardedTable, index: int) -> Iterator[Any]:
    for batch in table.read(index):
        yield pyarrow.Table.from_batches([batch])


class FraudgenDatasource(Datasource):  # type: ignore[misc]
    """Rows of one table in shards, for `ray.data.read_datasource`. Settings are those of `fraudgen.generate`, and are
    checked here."""

    def __init__(self, *, shards: Optional[int] = None, **settings: Unpack[Settings]) -> None:
        super().__init__()
        self._table = plan(settings, shards)

    @property
    def shards(self) -> int:
        return self._table.shards

    def get_name(self) -> str:
        return "Fraudgen"

    def estimate_inmemory_data_size(self) -> Optional[int]:
        """Returns None: it is not known beforehand."""
        return None

    def get_read_tasks(self, parallelism: int, per_task_row_limit: Optional[int] = None,
                       data_context: object = None) -> list[ReadTask]:
        """Returns a task per shard, whatever the parallelism: they decide which task has which rows."""
        table = self._table
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(lambda index=index: _tables(table, index), unknown, schema=table.schema,
                         per_task_row_limit=per_task_row_limit)
                for index in range(table.shards)]


def read(*, shards: Optional[int] = None, **settings: Unpack[Settings]) -> Dataset:
    """Returns the rows of one table as a data set of Ray, made by its workers while they are read.

    Settings are those of `fraudgen.generate`. Default of `shards`: as many as fit the size of the data.
    """
    source = FraudgenDatasource(shards=shards, **settings)
    # Without it, Ray would divide the blocks of few shards among more.
    return ray.data.read_datasource(source, override_num_blocks=source.shards)
