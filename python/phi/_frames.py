"""Results as data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from phi._objects import Multiplets
from phi._results import Decomposition, Granger, Measurement, ModelMeasurement, Transfers, Window

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

Row = tuple[dict[str, Any], dict[str, Any]]  # index and values


def _flat(result: Any, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns the fields of a result, and those of results within it, as ``significance_p``."""
    found: dict[str, Any] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name in leave_out:
            continue
        if is_dataclass(value):
            found.update({f"{field.name}_{name}": each for name, each in _flat(value).items()})
        elif value is not None:
            found[field.name] = value
    return found


def _multiplets(result: Multiplets) -> Iterator[Row]:
    for order in result.orders():
        for extreme in ("lowest", "highest"):
            for measure, value in getattr(order, extreme).items():
                yield {"order": order.order, "extreme": extreme, "measure": measure}, _flat(value)


def _granger(result: Granger) -> Iterator[Row]:
    for source, row in enumerate(result.nats):
        for target, nats in enumerate(row):
            if source != target:
                tests = {} if result.p is None or result.q is None else {
                    "p": result.p[source, target], "q": result.q[source, target]}
                yield {"source": source, "target": target}, {"nats": nats, **tests}


def _single(columns: tuple[int, ...]) -> Any:
    return columns[0] if len(columns) == 1 else columns


def _rows(result: Any) -> Iterator[Row]:
    if isinstance(result, (Measurement, ModelMeasurement)):
        yield from (({"measure": value.measure}, _flat(value, ("measure",))) for value in result.values)
    elif isinstance(result, Window):
        yield from (({"first_row": result.first_row, "last_row": result.last_row, "measure": value.measure},
                     _flat(value, ("measure",))) for value in result.values)
    elif isinstance(result, Decomposition):
        yield from (({"atom": atom.name}, _flat(atom, ("name",))) for atom in result.atoms)
    elif isinstance(result, Transfers):
        yield from (({"source": _single(pair.source), "target": _single(pair.target)},
                     _flat(pair, ("source", "target"))) for pair in result.pairs)
    elif isinstance(result, Granger):
        yield from _granger(result)
    elif isinstance(result, Multiplets):
        yield from _multiplets(result)
    elif isinstance(result, (list, tuple)) and all(isinstance(each, Window) for each in result):
        for window in result:
            yield from _rows(window)
    else:
        raise TypeError(f"a {type(result).__name__} has no data frame; pass a result of measure, windows, theory, "
                        "phiid, granger, te or oinfo, or a mapping of such results")


def to_pandas(results: Any, name: str = "subject") -> pandas.DataFrame:
    """Returns a result as a data frame: a row per measure, window, atom, pair, or extreme of an order.

    A mapping of results, such as {subject: result}, has its keys as the outer level of the index, which is called
    ``name``. ``to_pandas(...)[["nats"]].to_xarray()`` makes an array with these dimensions, if xarray is installed.

    >>> frame = phi.to_pandas({"first": phi.measure(series, "i,si"), "second": phi.measure(series[500:], "i,si")})
    >>> frame.nats.round(3).to_dict()
    {('first', 'i'): 0.244, ('first', 'si'): 0.555, ('second', 'i'): 0.268, ('second', 'si'): 0.587}
    """
    import pandas  # pylint: disable=import-outside-toplevel  # optional

    rows = [({name: key, **index}, row) for key, result in results.items() for index, row in _rows(result)] \
        if isinstance(results, Mapping) else list(_rows(results))
    if not rows:
        return pandas.DataFrame()
    names = list(rows[0][0])
    frame = pandas.DataFrame([{**index, **row} for index, row in rows])
    return frame.set_index(names)
