"""Measures of integrated information of NumPy arrays, in nats, and cycles of coupled modules.

A series is an array of rows x variables (float64, C order), of trials x rows x variables, or a list of
trials; it is read without a copy, so it must not change meanwhile. While a function computes, other
Python threads run; results depend neither on them nor on ``threads``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Optional, Union

if sys.version_info < (3, 10):
    raise ImportError("the Python package phi needs Python 3.10 or later; the program phi runs with any")
try:
    import numpy
except ImportError as error:
    raise ImportError("the Python package phi needs NumPy: pip install numpy") from error

from phi import _native
from phi._arrays import (
    Array,
    Columns,
    Parts,
    Series,
    check_array,
    columns_of,
    names_of,
    partition_text,
    threads_of,
    trials_of,
)
from phi._frames import to_pandas
from phi._networks import (
    Cause,
    Complexes,
    Concept,
    Cut,
    DirectedPart,
    Distinction,
    Effect,
    Iit4Complexes,
    Iit4System,
    Part,
    PhiStructure,
    Purview,
    Relations,
    RelationsOfOrder,
    SystemIrreducibility,
    SystemState,
    complexes,
    iit,
)
from phi._objects import Multiplets, Run
from phi._results import (
    Atom,
    Cycle,
    Decomposition,
    Extreme,
    GaussianComplex,
    Granger,
    Interval,
    Legacy,
    Measurement,
    ModelMeasurement,
    Order,
    Partition,
    Significance,
    Transfer,
    Transfers,
    Value,
    Window,
    significance_of,
    value_of,
)

__all__ = [
    "Atom", "Cause", "Complexes", "Concept", "Cut", "Cycle", "Decomposition", "DirectedPart", "Distinction", "Effect",
    "Extreme", "GaussianComplex", "Granger", "Iit4Complexes", "Iit4System", "Interval", "Legacy", "Measurement",
    "ModelMeasurement", "Multiplets", "Order", "Part", "Partition", "PhiStructure", "Purview", "Relations",
    "RelationsOfOrder", "Run", "Significance", "SystemIrreducibility", "SystemState", "Transfer", "Transfers", "Value",
    "Window", "complexes", "gaussian_complexes", "granger", "iit", "legacy", "measure", "mip", "oinfo", "phiid", "run",
    "te", "theory", "to_pandas", "windows",
]


def _measures(measures: Union[str, Sequence[str]]) -> str:
    return measures if isinstance(measures, str) else ",".join(measures)


def _past(order: Union[int, str]) -> dict[str, Any]:
    """Returns the order as the module takes it."""
    if isinstance(order, str):
        if order not in ("aic", "bic"):
            raise ValueError(f"order: '{order}' is invalid; use aic, bic or an integer >= 1")
        return {"order": order, "past_rows": 1}
    return {"order": "", "past_rows": order}


def measure(
    series: Series,
    measures: Union[str, Sequence[str]] = "all",
    *,
    partition: Parts = None,
    mip: Optional[str] = None,
    normalised: bool = False,
    lag: int = 1,
    order: Union[int, str] = 1,
    max_order: int = 10,
    shrinkage: Union[float, str] = "none",
    bias: bool = False,
    surrogates: int = 0,
    surrogate: str = "auto",
    bootstrap: int = 0,
    block: int = 0,
    seed: int = 1,
    names: Optional[Sequence[str]] = None,
    threads: Optional[int] = None,
) -> Measurement:
    """Returns measures of a series: i, mi, si, wms, phi_r, phi_g, phi_star, or all.

    ``partition`` is [[0, 1], [2]] or "0,1|2" (default: one variable per part); ``mip`` evaluates each
    measure at its minimum information bipartition, found "exhaustive" (up to 24 variables) or by
    "queyranne". ``lag`` is in rows, ``order`` the number of past rows, or "aic" or "bic". ``surrogates``
    and ``bootstrap`` are numbers of replicates, ``block`` the rows of a block. The options are those of
    ``phi measure``, which returns the same numbers.
    """
    trials = trials_of(series)
    found = _native.measure(trials, names_of(names, trials), {
        "measures": _measures(measures), "partition": partition_text(partition), "mip": mip or "",
        "normalised": normalised, "lag": lag, **_past(order), "max_order": max_order,
        "shrinkage": str(shrinkage), "bias": bias, "surrogates": surrogates, "surrogate": surrogate,
        "bootstrap": bootstrap, "block": block, "seed": seed, "threads": threads_of(threads),
    })
    return Measurement(**{**found, "values": tuple(value_of(row) for row in found["values"])})


def mip(series: Series, measure_name: str = "si", *, method: str = "exhaustive", **options: Any) -> Value:
    """Returns a measure at its minimum information bipartition, with that partition.

    ``options`` are those of :func:`measure`.
    """
    return measure(series, measure_name, mip=method, **options).values[0]


def windows(
    series: Series,
    length: int,
    measures: Union[str, Sequence[str]] = "all",
    *,
    step: int = 1,
    partition: Parts = None,
    mip: Optional[str] = None,
    normalised: bool = False,
    lag: int = 1,
    order: Union[int, str] = 1,
    max_order: int = 10,
    shrinkage: Union[float, str] = "none",
    names: Optional[Sequence[str]] = None,
    threads: Optional[int] = None,
) -> list[Window]:
    """Returns the measures of sliding windows of ``length`` rows, ``step`` rows apart.

    Windows do not span trials. The other options are those of :func:`measure`.
    """
    trials = trials_of(series)
    found = _native.windows(trials, names_of(names, trials), {
        "length": length, "step": step, "measures": _measures(measures),
        "partition": partition_text(partition), "mip": mip or "", "normalised": normalised, "lag": lag,
        **_past(order), "max_order": max_order, "shrinkage": str(shrinkage), "threads": threads_of(threads),
    })
    return [Window(row["first_row"], row["last_row"], tuple(value_of(each) for each in row["values"]))
            for row in found]


def phiid(
    series: Series,
    *,
    redundancy: str = "mmi",
    partition: Parts = None,
    mip: Optional[str] = None,
    local: bool = False,
    lag: int = 1,
    order: Union[int, str] = 1,
    max_order: int = 10,
    shrinkage: Union[float, str] = "none",
    bias: bool = False,
    surrogates: int = 0,
    surrogate: str = "auto",
    seed: int = 1,
    names: Optional[Sequence[str]] = None,
    threads: Optional[int] = None,
) -> Decomposition:
    """Returns the sixteen atoms of integrated information decomposition of two parts, in nats.

    ``redundancy`` is "mmi" or "ccs", ``partition`` two parts (default: the minimum bipartition of
    phi_r). ``local`` adds the atoms of each pair of past and present.
    """
    trials = trials_of(series)
    found = _native.phiid(trials, names_of(names, trials), {
        "redundancy": redundancy, "measures": "phi_r", "partition": partition_text(partition),
        "mip": mip or "", "normalised": False, "local": local, "lag": lag, **_past(order),
        "max_order": max_order, "shrinkage": str(shrinkage), "bias": bias, "surrogates": surrogates,
        "surrogate": surrogate, "seed": seed, "threads": threads_of(threads),
    })
    atoms = tuple(Atom(**{**row, "significance": significance_of(row["significance"])}) for row in found["atoms"])
    return Decomposition(**{**found, "atoms": atoms})


def granger(
    series: Series,
    *,
    conditional: bool = False,
    lag: int = 1,
    order: Union[int, str] = 1,
    max_order: int = 10,
    shrinkage: Union[float, str] = "none",
    names: Optional[Sequence[str]] = None,
) -> Granger:
    """Returns the Granger causality of all ordered pairs in nats, or given all other variables (``conditional``)."""
    trials = trials_of(series)
    return Granger(**_native.granger(trials, names_of(names, trials), {
        "measures": "i", "partition": "", "mip": "", "normalised": False, "conditional": conditional, "lag": lag,
        **_past(order), "max_order": max_order, "shrinkage": str(shrinkage), "threads": 1,
    }))


def te(
    series: Series,
    *,
    estimator: str = "discrete",
    source: Columns = None,
    target: Columns = None,
    given: Columns = None,
    bins: int = 4,
    neighbours: int = 4,
    theiler: int = 0,
    target_history: int = 1,
    source_history: int = 1,
    delay: int = 1,
    surrogates: int = 0,
    seed: int = 1,
    names: Optional[Sequence[str]] = None,
    threads: Optional[int] = None,
) -> Transfers:
    """Returns transfer entropies in nats: of all ordered pairs, or from ``source`` to ``target``.

    ``estimator`` is "discrete" (counts of quantile bins), "gauss" or "ksg" (nearest neighbours).
    Columns are given by index or name; ``given="all"`` conditions on all others. Histories, delay and
    ``theiler``, the window within which rows are no neighbours (ksg), are in rows.
    """
    trials = trials_of(series)
    columns = names_of(names, trials)
    all_others = given == "all" and "all" not in columns
    found = _native.te(trials, columns, {
        "estimator": estimator, "source": columns_of(source, columns), "target": columns_of(target, columns),
        "given": [] if all_others else columns_of(given, columns), "given_all_others": all_others,
        "bins": bins, "neighbours": neighbours, "theiler": theiler, "target_history": target_history,
        "source_history": source_history, "delay": delay, "surrogates": surrogates, "seed": seed,
        "threads": threads_of(threads),
    })
    return Transfers(tuple(Transfer(**row) for row in found), len(columns))


def oinfo(
    series: Series,
    *,
    copula: bool = False,
    shrinkage: Union[float, str] = "none",
    surrogates: int = 0,
    surrogate: str = "auto",
    seed: int = 1,
    names: Optional[Sequence[str]] = None,
    threads: Optional[int] = None,
) -> Multiplets:
    """Returns O-information, S-information, total and dual total correlation of all subsets.

    For up to 24 variables at equal times; with ``copula``, of the normal quantiles of their ranks (hoi's
    method "gc").
    """
    trials = trials_of(series)
    found = _native.oinfo(trials, names_of(names, trials), {
        "copula": copula, "shrinkage": str(shrinkage), "surrogates": surrogates, "surrogate": surrogate,
        "seed": seed, "threads": threads_of(threads),
    })
    return Multiplets(found, trials[0].shape[1])


def theory(
    coupling: Array,
    noise: Optional[Array] = None,
    measures: Union[str, Sequence[str]] = "all",
    *,
    partition: Parts = None,
    mip: Optional[str] = None,
    normalised: bool = False,
) -> ModelMeasurement:
    """Returns the measures of the model Y = A X + E: ``coupling`` is A (rows: targets), ``noise`` the covariance of E.

    The noise is by default uncorrelated, with variance 1. The other options are those of :func:`measure`.
    """
    matrix = check_array(coupling, "the coupling", "targets x sources")
    covariance = numpy.eye(len(matrix)) if noise is None else check_array(noise, "the noise", "targets x targets")
    found = _native.theory(matrix, covariance, [str(i) for i in range(len(matrix))], {
        "measures": _measures(measures), "partition": partition_text(partition), "mip": mip or "",
        "normalised": normalised})
    return ModelMeasurement(**{**found, "values": tuple(value_of(row) for row in found["values"])})


def gaussian_complexes(
    series: Series,
    measure_name: str = "si",
    *,
    lag: int = 1,
    order: Union[int, str] = 1,
    max_order: int = 10,
    shrinkage: Union[float, str] = "none",
    names: Optional[Sequence[str]] = None,
) -> tuple[GaussianComplex, ...]:
    """Returns the complexes of a series by mi, si or wms, of up to 16 variables, by descending value."""
    trials = trials_of(series)
    found = _native.gaussian_complexes(trials, names_of(names, trials), {
        "measures": measure_name, "partition": "", "mip": "", "normalised": False, "lag": lag, **_past(order),
        "max_order": max_order, "shrinkage": str(shrinkage), "threads": 1})
    return tuple(GaussianComplex(*row) for row in found)


def legacy(series: Series) -> Legacy:
    """Returns OmniMind's mean absolute correlation at the end of the last trial, and that of independent noise."""
    return Legacy(*_native.legacy(trials_of(series)))


def run(
    cycles: int = 500,
    runs: int = 1,
    *,
    measures: Union[str, Sequence[str]] = "phi_legacy",
    dimension: int = 768,
    seed: int = 1,
    first_run: int = 0,
    temperature: float = 0.0005,
    repression: float = 0.8,
    decay: float = 0.95,
    least_variance: float = 0.001,
    feedback: float = 0.0,
    window: int = 50,
    every: int = 50,
    lag: int = 1,
    mip: bool = False,
    threads: Optional[int] = None,
    device: str = "cpu",
) -> Run:
    """Returns an iterator over integration cycles, which are computed as they are asked for.

    ``measures`` are some of phi_legacy, i, mi, si, wms, phi_r, phi_g, phi_star, or all, or none, every
    ``every`` cycles of windows of ``window`` cycles. ``device`` is "cpu", "gpu", "gpu:N" or "auto", with the
    same bits. The options are those of ``phi run``, whose rows have the same numbers.
    """
    return Run(_native.Cycles({
        "cycles": cycles, "runs": runs, "measures": _measures(measures), "dimension": dimension, "seed": seed,
        "first_run": first_run, "temperature": temperature, "repression": repression, "decay": decay,
        "least_variance": least_variance, "feedback": feedback, "window": window, "every": every, "lag": lag,
        "mip": mip, "threads": threads or 0, "device": device,
    }))
