"""The rows of one table in shards, which workers of an engine (Spark, Ray) make independently."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from typing import Any, Optional

import pyarrow  # type: ignore[import-untyped]

from fraudgen import Settings, Stream, _columns, _native, _texts

MAX_SHARDS = 1_000_000


class _HeldSchema:
    """What pyarrow reads a schema from."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> object:
        return self._capsule


@dataclasses.dataclass(frozen=True)
class ShardedTable:
    """What a worker needs to make the rows of any shard. It can be pickled."""

    settings: Mapping[str, str]
    table: str  #: "" for the main one
    columns: list[str]
    shards: int
    rows: Optional[int]  #: transactions, or rides, of all shards; None if they follow from customers
    schema: Any  #: pyarrow.Schema, as of Arrow files
    maker: str  #: version of fraudgen, which decides the rows

    def read(self, index: int) -> Any:
        """Returns the rows of a shard, counted from 0, as a pyarrow.RecordBatchReader.

        Raises RuntimeError if the fraudgen that is installed here makes other rows than that of the plan.
        """
        if _native.maker != self.maker:
            raise RuntimeError(f"this worker has {_native.maker}, but the program that reads from it {self.maker}; "
                               "install the same version of fraudgen on all nodes")
        shard = f"{index + 1}/{self.shards}"
        return Stream(functools.partial(_native.generate, self.settings, self.table, self.columns, shard)).to_reader()

    def fingerprint(self) -> str:
        """Returns a text that is the same for the same rows in the same shards only."""
        said = (sorted(self.settings.items()), self.table, self.columns, self.shards, self.maker)
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def shard_count(value: object) -> int:
    """Returns a number of shards. Raises ValueError if it is not one."""
    try:
        count = int(value) if isinstance(value, (int, str)) else 0
    except ValueError:
        count = 0
    if not 1 <= count <= MAX_SHARDS:
        raise ValueError(f"shards: '{value}' is invalid; expected a number from 1 to {MAX_SHARDS}")
    return count


def plan(settings: Settings, shards: Optional[object] = None) -> ShardedTable:
    """Returns the table that settings name, in shards (default: as many as fit its size).

    Determines the rows of a size here, once, so that workers need not. Raises ValueError or TypeError for settings
    that are invalid.
    """
    if "shard" in settings:
        raise TypeError("the engine chooses the shard that a worker makes; say how many by 'shards'")
    columns = _columns(settings)
    texts = _texts(settings)
    table = settings.get("table") or ""
    found = _native.plan(texts, table, columns)
    rows = found["rows"]
    if rows is not None:
        texts.pop("size", None)
        texts["rows"] = str(rows)
    count = found["groups"] if shards is None else shard_count(shards)
    return ShardedTable(texts, table, columns, max(1, count), rows,
                        pyarrow.schema(_HeldSchema(found["schema"])), _native.maker)
