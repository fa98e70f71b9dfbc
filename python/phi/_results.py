"""What the functions return: immutable, with information in nats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

Partition = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Significance:
    """A test against surrogates, in which the parts are independent.

    >>> tested = phi.measure(series, "si", surrogates=19)["si"].significance
    >>> tested.p, tested.surrogates
    (0.05, 19)
    """

    p: float  #: (1 + surrogates at or above the value) / (1 + surrogates)
    null_mean: float  #: nats
    null_high: float  #: 95 % quantile of the surrogates, nats
    surrogates: int
    missing: str = ""  #: why p and null are not numbers: surrogates without a value


@dataclass(frozen=True)
class Interval:
    """A 95 % interval of a moving block bootstrap.

    >>> interval = phi.measure(series, "si", bootstrap=20)["si"].interval
    >>> interval.low < interval.high
    True
    """

    low: float  #: nats
    high: float  #: nats
    replicates: int
    block: int  #: rows
    missing: str = ""  #: why the ends are not numbers: replicates without a value


@dataclass(frozen=True)
class Value:
    """The value of one measure, and where it comes from.

    >>> value = phi.measure(series, "phi_r", mip="exhaustive")["phi_r"]
    >>> round(value.nats, 3), value.partition, value.exact
    (0.004, ((0, 1, 3), (2,)), True)
    """

    measure: str
    nats: float  #: not a number if the value is missing
    partition: Optional[Partition]  #: parts by index of the variable; None for i
    examined: int  #: bipartitions that were compared; 0 without a search
    exact: bool  #: whether the minimum over bipartitions is guaranteed
    method: Optional[str]  #: of the search
    starts: int  #: starting points of the minimisation of phi_g
    agreed: int  #: starts that led to this value
    at_least: Optional[float]  #: lower bound of phi_g, nats
    missing: str  #: why the value could not be computed, or ""
    bias: Optional[float] = None  #: expected bias of independent rows, nats; none of a minimum over partitions
    significance: Optional[Significance] = None
    interval: Optional[Interval] = None


class _ByMeasure:
    """Results whose values are found by the name of their measure, and iterated over."""

    values: tuple[Value, ...]

    def __getitem__(self, measure: str) -> Value:
        for value in self.values:
            if value.measure == measure:
                return value
        raise KeyError(measure)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)


@dataclass(frozen=True)
class Measurement(_ByMeasure):
    """The measures of a series. ``measurement["phi_r"].nats`` is one of them.

    >>> [value.measure for value in phi.measure(series, "i,si")]
    ['i', 'si']
    """

    values: tuple[Value, ...]
    samples: int  #: pairs of past and present
    lag: int  #: rows from past to present
    order: int  #: past rows per variable
    shrinkage: float  #: applied intensity, 0 to 1
    condition_number: float  #: above 1e8, values have fewer correct digits
    bias_note: str  #: where the biases hold, and whether they do here; "" if none was asked for


@dataclass(frozen=True)
class Window(_ByMeasure):
    """The measures of the rows first_row to last_row, counted over all trials.

    >>> first = phi.windows(series, 500, "si", step=250)[0]
    >>> first.first_row, first.last_row
    (0, 499)
    """

    first_row: int
    last_row: int
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Atom:
    """One of the sixteen atoms of integrated information decomposition.

    >>> atom = phi.phiid(series, partition=[[0, 1], [2, 3]])["sts"]
    >>> atom.mode, atom.nats > 0
    ('storage', True)
    """

    name: str  #: past, "t" and present: "xts"
    nats: float
    mode: str  #: storage, copy, transfer, erasure, downward or upward causation
    bias: Optional[float]  #: expected bias of independent rows, nats
    significance: Optional[Significance]


@dataclass(frozen=True)
class Decomposition:
    """The atoms of a series at a bipartition. ``decomposition["sts"].nats`` is one of them.

    >>> len(phi.phiid(series, partition=[[0, 1], [2, 3]]).atoms)
    16
    """

    redundancy: str
    partition: Partition
    atoms: tuple[Atom, ...]
    phi_r: float  #: the sum of the atoms that are not of one part about itself, nats
    bias_note: str  #: where the biases hold, and whether they do here; "" if there is none
    local: Optional[NDArray[numpy.float64]]  #: pairs of past and present x 16, nats, if asked for

    def __getitem__(self, name: str) -> Atom:
        for atom in self.atoms:
            if atom.name == name:
                return atom
        raise KeyError(name)


@dataclass(frozen=True)
class Granger:
    """Granger causality of all pairs; rows are sources, columns targets. Half of it is transfer entropy.

    >>> found = phi.granger(series)
    >>> bool(found.q[0, 1] < 0.01), bool(found.q[1, 0] < 0.01)
    (True, False)
    """

    nats: NDArray[numpy.float64]  #: variables x variables; 0 on the diagonal
    p: Optional[NDArray[numpy.float64]]  #: by the chi-square distribution; None with shrinkage
    q: Optional[NDArray[numpy.float64]]  #: p adjusted for the false discovery rate over all pairs


@dataclass(frozen=True)
class Transfer:
    """The transfer entropy from columns to columns.

    >>> pair = phi.te(series, estimator="gauss", source=0, target=1).pairs[0]
    >>> pair.source, pair.target, round(pair.nats, 2)
    ((0,), (1,), 0.24)
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    given: tuple[int, ...]
    nats: float
    corrected: Optional[float]  #: for the bias of the estimator, nats
    histories_suffice: bool  #: whether the target's past beyond its history does not matter, as corrected needs
    samples: int
    states: int  #: observed joint states, of the discrete estimator
    null_mean: Optional[float]  #: of the surrogates, nats
    p: Optional[float]
    q: Optional[float]  #: p adjusted for the false discovery rate over all transfers


@dataclass(frozen=True)
class Transfers:
    """Transfer entropies, by source and then target.

    >>> len(phi.te(series).pairs)
    12
    """

    pairs: tuple[Transfer, ...]
    variables: int

    def matrix(self, field: str = "nats") -> NDArray[numpy.float64]:
        """Returns a field of single columns as variables x variables: rows are sources, columns targets.

        Cells without a transfer are not a number.

        >>> phi.te(series, estimator="gauss").matrix().shape
        (4, 4)
        """
        cells = numpy.full((self.variables, self.variables), numpy.nan)
        for pair in self.pairs:
            if len(pair.source) == 1 and len(pair.target) == 1:
                value = getattr(pair, field)
                cells[pair.source[0], pair.target[0]] = numpy.nan if value is None else value
        return cells


@dataclass(frozen=True)
class Extreme:
    """The subset with the lowest or highest value of its order.

    >>> phi.oinfo(series).orders()[1].lowest["o"].variables
    (0, 2, 3)
    """

    nats: float
    variables: tuple[int, ...]
    p: Optional[float]  #: against the extremes of surrogates
    null_bound: Optional[float]  #: 95 % quantile of these (5 % of the lowest), nats


@dataclass(frozen=True)
class Order:
    """All subsets of so many variables. Mappings are by measure: o, s, tc, dtc; values are in nats.

    >>> [(order.order, order.subsets) for order in phi.oinfo(series).orders()]
    [(2, 6), (3, 4), (4, 1)]
    """

    order: int
    subsets: int
    mean: Mapping[str, float]
    bias: Mapping[str, float]  #: expected bias of independent rows, without shrinkage
    highest: Mapping[str, Extreme]
    lowest: Mapping[str, Extreme]


@dataclass(frozen=True)
class ModelMeasurement(_ByMeasure):
    """The measures of a model. ``measurement["phi_g"].nats`` is one of them.

    >>> round(phi.theory(numpy.array([[0.4, 0.2], [0.2, 0.4]]), measures="si").spectral_radius, 3)
    0.6
    """

    values: tuple[Value, ...]
    spectral_radius: float
    condition_number: float  #: above 1e8, values have fewer correct digits


@dataclass(frozen=True)
class GaussianComplex:
    """Variables that are more integrated than all their supersets.

    >>> [found.variables for found in phi.gaussian_complexes(series) if found.main]
    [(2, 3), (0, 1)]
    """

    variables: tuple[int, ...]
    nats: float  #: of the measure at its minimum partition
    main: bool  #: whether no complex within it has a higher value


@dataclass(frozen=True)
class Legacy:
    """OmniMind's mean absolute correlation, and that of independent noise.

    >>> found = phi.legacy(series)
    >>> round(found.value, 3), found.value > found.null_high
    (0.067, True)
    """

    value: float
    null_mean: float
    null_low: float  #: 2.5 % quantile
    null_high: float  #: 97.5 % quantile


@dataclass(frozen=True)
class Cycle:
    """One cycle of all runs.

    >>> [(cycle.cycle, cycle.states.shape) for cycle in phi.run(2, runs=3, dimension=16)]
    [(1, (3, 9)), (2, (3, 9))]
    """

    cycle: int  #: from 1
    hashes: NDArray[numpy.uint64]  #: runs; of the states
    states: NDArray[numpy.float32]  #: runs x Run.states
    values: NDArray[numpy.float64]  #: runs x Run.measures, nats; not a number where none is due


def significance_of(row: Optional[Mapping[str, Any]]) -> Optional[Significance]:
    """Returns what the module says of a test."""
    return None if row is None else Significance(**row)


def value_of(row: Mapping[str, Any]) -> Value:
    """Returns what the module says of a value."""
    interval = row.get("interval")
    return Value(**{**row, "significance": significance_of(row.get("significance")),
                    "interval": None if interval is None else Interval(**interval)})


def order_of(row: Mapping[str, Any]) -> Order:
    """Returns what the module says of the subsets of an order."""
    def extremes(side: str) -> dict[str, Extreme]:
        return {name: Extreme(**each) for name, each in row[side].items()}
    return Order(row["order"], row["subsets"], row["mean"], row["bias"], extremes("highest"), extremes("lowest"))
