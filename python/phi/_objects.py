"""Objects around those of the module, which compute when they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

import numpy
from numpy.typing import NDArray

from phi import _native
from phi._arrays import Array
from phi._results import Cycle, Order, order_of

_MAX_BATCH = 64  # cycles that an iterator computes at once


class Multiplets:
    """O-information and its kin of all subsets of the variables of a series, in nats.

    o > 0: redundancy prevails, o < 0: synergy.

    >>> found = phi.oinfo(series)
    >>> found.variables, found.samples
    (4, 1000)
    """

    measures = ("o", "s", "tc", "dtc")

    def __init__(self, native: _native.Multiplets, variables: int) -> None:
        self._native = native
        self.variables = variables
        self.samples = native.samples  #: rows
        self.shrinkage = native.shrinkage  #: applied intensity, 0 to 1
        self.condition_number = native.condition_number
        self.bias_note = native.bias_note  #: where the biases of orders hold, and whether they do here

    def orders(self) -> tuple[Order, ...]:
        """Returns mean and extremes of each number of variables, from two.

        >>> phi.oinfo(series).orders()[0].highest["tc"].variables
        (2, 3)
        """
        return tuple(order_of(row) for row in self._native.orders())

    def values(self, variables: Sequence[int]) -> dict[str, float]:
        """Returns o, s, tc and dtc of a subset.

        >>> round(phi.oinfo(series).values([0, 1])["tc"], 3)
        0.0
        """
        if not variables or not all(0 <= variable < self.variables for variable in variables):
            raise ValueError(f"variables: use some of 0 to {self.variables - 1}")
        return self._native.values(sum(1 << variable for variable in set(variables)))

    def table(self, minsize: int = 2, maxsize: Optional[int] = None) -> tuple[NDArray[numpy.uint32], Array]:
        """Returns all subsets of so many variables, in the order of ``itertools.combinations`` (as hoi).

        The first array has a subset per row as bits (bit i: variable i), the second its o, s, tc and dtc.

        >>> subsets, values = phi.oinfo(series).table(2, 3)
        >>> bin(subsets[0]), values.shape
        ('0b11', (10, 4))
        """
        last = self.variables if maxsize is None else maxsize
        if not 1 <= minsize <= last <= self.variables:
            raise ValueError(f"minsize, maxsize: use numbers from 1 to {self.variables}")
        subsets, values = self._native.table(minsize, last)
        return subsets[:, 0], values


class Run(Iterator[Cycle]):
    """An iterator over the cycles of a batch of runs.

    >>> cycles = phi.run(100, dimension=64, measures="si,phi_legacy")
    >>> cycles.measures, next(cycles).cycle
    (('phi_legacy', 'si'), 1)
    """

    def __init__(self, native: _native.Cycles) -> None:
        self._native = native
        self._cycle = 0
        self._ready: list[Cycle] = []
        self._batch = 1
        self.states = tuple(native.states)  #: names of the columns of Cycle.states
        self.measures = tuple(native.measures)  #: names of the columns of Cycle.values
        self.engine = native.engine  #: such as "cpu avx512"

    def __next__(self) -> Cycle:
        if not self._ready:
            self._advance()
        return self._ready.pop()

    def _advance(self) -> None:
        count, hashes, states, values = self._native.advance(self._batch)
        if count == 0:
            raise StopIteration
        self._batch = min(2 * self._batch, _MAX_BATCH)
        runs = len(hashes) // count
        rows = [slice(i * runs, (i + 1) * runs) for i in range(count)]
        self._ready = [Cycle(self._cycle + 1 + i, hashes[at, 0], states[at], values[at])
                       for i, at in enumerate(rows)][::-1]
        self._cycle += count
