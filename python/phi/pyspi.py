"""Phi* and Phi_G of pairs of processes for pyspi, under the names of pyspi's own.

In a configuration file for ``pyspi.calculator.Calculator``, name ``phi.pyspi`` instead of ``.statistics.infotheory``::

    phi.pyspi:
      IntegratedInformation:
        labels: [undirected, nonlinear, unsigned, bivariate, time-dependent]
        dependencies:
        configs:
          - phitype: "star"
          - phitype: "Geo"
"""

from __future__ import annotations

import math
from typing import Any

import numpy
from pyspi.base import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    Undirected,
    Unsigned,
    parse_bivariate,
)

from phi import measure

_MEASURES = {"star": "phi_star", "Geo": "phi_g"}


class IntegratedInformation(Undirected, Unsigned):  # type: ignore[misc]
    """Integrated information of two processes, each a part: Phi* (``star``) or Phi_G (``Geo``), in nats.

    With ``normalization``, divided by the smaller entropy of the parts' pasts.
    """

    name = "Integrated information"
    identifier = "phi"
    labels = ["undirected", "nonlinear", "unsigned", "bivariate", "time-dependent"]

    def __init__(self, phitype: str = "star", delay: int = 1, normalization: int = 0) -> None:
        if phitype not in _MEASURES:
            raise ValueError(f"phitype: '{phitype}' is not known; use star or Geo")
        self._measure = _MEASURES[phitype]
        self._delay = delay
        self._normalization = normalization
        self.identifier = f"phi_{phitype}_t-{delay}_norm-{normalization}"

    @parse_bivariate  # type: ignore[untyped-decorator]
    def bivariate(self, data: Any, i: int, j: int) -> float:
        """Returns the value of two processes of a ``pyspi.data.Data``."""
        pair = numpy.ascontiguousarray(data.to_numpy(squeeze=True)[[i, j]].T, dtype=numpy.float64)
        value = measure(pair, self._measure, lag=self._delay, threads=1).values[0].nats
        if not self._normalization:
            return value
        smaller = float(pair[:-self._delay].var(axis=0, ddof=1).min())
        return value / (0.5 * math.log(2 * math.pi * math.e * smaller))
