"""Measures of integrated information of NumPy arrays, in nats, and cycles of coupled modules.

A series is an array of rows x variables (float64, C order), of trials x rows x variables, or a list of
trials; it is read without a copy, so it must not change meanwhile. While a function computes, other
Python threads run; results depend neither on them nor on ``threads``.

Examples of the functions and results use these:

>>> import numpy
>>> import phi
>>> series = numpy.random.default_rng(1).normal(size=(1000, 4))  # rows x variables
>>> series[1:, 1] += 0.8 * series[:-1, 0]  # the first drives the second
>>> series[:, 3] += series[:, 2]  # the last two are alike
>>> tpm = numpy.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0],
...                    [1, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 0]], dtype=float)
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
    Parts,
    Series,
    check_array,
    measures_text,
    names_of,
    partition_text,
    past_of,
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
from phi._pairs import granger, te
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

    >>> found = phi.measure(series, "si,phi_r", surrogates=19)
    >>> round(found["phi_r"].nats, 3), found["phi_r"].significance.p
    (0.004, 0.05)
    """
    trials = trials_of(series)
    found = _native.measure(trials, names_of(names, trials), {
        "measures": measures_text(measures), "partition": partition_text(partition), "mip": mip or "",
        "normalised": normalised, "lag": lag, **past_of(order), "max_order": max_order,
        "shrinkage": str(shrinkage), "bias": bias, "surrogates": surrogates, "surrogate": surrogate,
        "bootstrap": bootstrap, "block": block, "seed": seed, "threads": threads_of(threads),
    })
    return Measurement(**{**found, "values": tuple(value_of(row) for row in found["values"])})


def mip(series: Series, measure_name: str = "si", *, method: str = "exhaustive", **options: Any) -> Value:
    """Returns a measure at its minimum information bipartition, with that partition.

    ``options`` are those of :func:`measure`.

    >>> phi.mip(series, "si").partition
    ((0, 1), (2, 3))
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

    >>> [(window.first_row, round(window["si"].nats, 2)) for window in phi.windows(series, 400, "si", step=300)]
    [(0, 0.55), (300, 0.57), (600, 0.56)]
    """
    trials = trials_of(series)
    found = _native.windows(trials, names_of(names, trials), {
        "length": length, "step": step, "measures": measures_text(measures),
        "partition": partition_text(partition), "mip": mip or "", "normalised": normalised, "lag": lag,
        **past_of(order), "max_order": max_order, "shrinkage": str(shrinkage), "threads": threads_of(threads),
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

    >>> round(phi.phiid(series, partition=[[0, 1], [2, 3]])["sts"].nats, 3)
    0.004
    """
    trials = trials_of(series)
    found = _native.phiid(trials, names_of(names, trials), {
        "redundancy": redundancy, "measures": "phi_r", "partition": partition_text(partition),
        "mip": mip or "", "normalised": False, "local": local, "lag": lag, **past_of(order),
        "max_order": max_order, "shrinkage": str(shrinkage), "bias": bias, "surrogates": surrogates,
        "surrogate": surrogate, "seed": seed, "threads": threads_of(threads),
    })
    atoms = tuple(Atom(**{**row, "significance": significance_of(row["significance"])}) for row in found["atoms"])
    return Decomposition(**{**found, "atoms": atoms})


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

    >>> round(phi.oinfo(series).values([2, 3])["tc"], 3)
    0.308
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

    >>> coupling = numpy.array([[0.5, 0.2], [0.2, 0.5]])
    >>> round(phi.theory(coupling, measures="phi_g")["phi_g"].nats, 4)
    0.0547
    """
    matrix = check_array(coupling, "the coupling", "targets x sources")
    covariance = numpy.eye(len(matrix)) if noise is None else check_array(noise, "the noise", "targets x targets")
    found = _native.theory(matrix, covariance, [str(i) for i in range(len(matrix))], {
        "measures": measures_text(measures), "partition": partition_text(partition), "mip": mip or "",
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
    """Returns the complexes of a series by mi, si or wms, of up to 16 variables, by descending value.

    >>> [(found.variables, round(found.nats, 3)) for found in phi.gaussian_complexes(series)]
    [((2, 3), 0.311), ((0, 1), 0.237), ((0, 1, 2, 3), 0.007)]
    """
    trials = trials_of(series)
    found = _native.gaussian_complexes(trials, names_of(names, trials), {
        "measures": measure_name, "partition": "", "mip": "", "normalised": False, "lag": lag, **past_of(order),
        "max_order": max_order, "shrinkage": str(shrinkage), "threads": 1})
    return tuple(GaussianComplex(*row) for row in found)


def legacy(series: Series) -> Legacy:
    """Returns OmniMind's mean absolute correlation at the end of the last trial, and that of independent noise.

    >>> round(phi.legacy(series).value, 3)
    0.067
    """
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

    >>> *_, last = phi.run(20, runs=2, dimension=16, measures="phi_legacy,si", window=20, every=20)
    >>> last.cycle, last.values.shape
    (20, (2, 2))
    """
    return Run(_native.Cycles({
        "cycles": cycles, "runs": runs, "measures": measures_text(measures), "dimension": dimension, "seed": seed,
        "first_run": first_run, "temperature": temperature, "repression": repression, "decay": decay,
        "least_variance": least_variance, "feedback": feedback, "window": window, "every": every, "lag": lag,
        "mip": mip, "threads": threads or 0, "device": device,
    }))
