"""Arguments of functions: arrays as trials, columns, threads."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any, Union

import numpy
from numpy.typing import NDArray

Array = NDArray[numpy.float64]
# One trial of rows x variables, trials x rows x variables, or a list of trials of any lengths.
Series = Union[Array, Sequence[Array]]
# Columns by index or by name; one, or several together.
Columns = Union[int, str, Sequence[int], Sequence[str], None]
# Parts of variables, such as [[0, 1], [2]], or as the program takes them: "0,1|2".
Parts = Union[str, Sequence[Sequence[int]], None]


def _explain(array: object, what: str, dimensions: str) -> str:
    if not isinstance(array, numpy.ndarray):
        return f"{what} is a {type(array).__name__}; pass a NumPy array of float64"
    if array.dtype != numpy.float64:
        return f"{what} is of {array.dtype}; pass array.astype(numpy.float64)"
    if array.ndim != len(dimensions.split(" x ")):
        return f"{what} has {array.ndim} dimensions; pass {dimensions}"
    return f"{what} is not in C order; pass numpy.ascontiguousarray(array)"


def check_array(array: object, what: str, dimensions: str) -> Array:
    """Returns a float64 array in C order, which is used without a copy; raises TypeError or ValueError."""
    if not isinstance(array, numpy.ndarray) or array.dtype != numpy.float64:
        raise TypeError(_explain(array, what, dimensions))
    if array.ndim != len(dimensions.split(" x ")) or not array.flags.c_contiguous:
        raise ValueError(_explain(array, what, dimensions))
    return array


def trials_of(series: Series) -> list[Array]:
    """Returns the trials of a series, as views of its memory."""
    if isinstance(series, numpy.ndarray) and series.ndim == 3:
        return list(check_array(series, "the series", "trials x rows x variables"))
    if not isinstance(series, (list, tuple)):
        return [check_array(series, "the series", "rows x variables")]
    trials = [check_array(trial, f"trial {i}", "rows x variables") for i, trial in enumerate(series)]
    if not trials:
        raise ValueError("the series has no trials; pass at least one")
    for i, trial in enumerate(trials):
        if trial.shape[1] != trials[0].shape[1]:
            raise ValueError(f"trial {i} has {trial.shape[1]} variables, and trial 0 has {trials[0].shape[1]}")
    return trials


def names_of(names: Sequence[str] | None, trials: list[Array]) -> list[str]:
    """Returns a name for each variable; by default its index."""
    count = trials[0].shape[1]
    if names is None:
        return [str(i) for i in range(count)]
    if len(names) != count:
        raise ValueError(f"there are {len(names)} names, and {count} variables")
    return list(names)


def columns_of(columns: Columns, names: list[str]) -> list[int]:
    """Returns the indices of columns that are given by index or name."""
    if columns is None:
        return []
    found = []
    for column in columns if isinstance(columns, Sequence) and not isinstance(columns, str) else [columns]:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"there is no column '{column}'; use one of {', '.join(names)}")
            column = names.index(column)
        if not 0 <= operator.index(column) < len(names):
            raise ValueError(f"there is no column {column}; use 0 to {len(names) - 1}")
        found.append(operator.index(column))
    return found


def partition_text(partition: Parts) -> str:
    """Returns a partition as the library parses it."""
    if partition is None or isinstance(partition, str):
        return partition or ""
    return "|".join(",".join(str(variable) for variable in part) for part in partition)


def threads_of(threads: int | None) -> int:
    """Returns the number of threads; by default the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if threads is None else threads


def measures_text(measures: Union[str, Sequence[str]]) -> str:
    """Returns measures as the module takes them."""
    return measures if isinstance(measures, str) else ",".join(measures)


def past_of(order: Union[int, str]) -> dict[str, Any]:
    """Returns the order as the module takes it."""
    if isinstance(order, str):
        if order not in ("aic", "bic"):
            raise ValueError(f"order: '{order}' is invalid; use aic, bic or an integer >= 1")
        return {"order": order, "past_rows": 1}
    return {"order": "", "past_rows": order}
