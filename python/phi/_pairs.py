"""What one variable of a series tells of the next rows of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

from phi import _native
from phi._arrays import Columns, Series, columns_of, names_of, past_of, threads_of, trials_of
from phi._results import Granger, Transfer, Transfers


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
    """Returns the Granger causality of all ordered pairs in nats, or given all other variables (``conditional``).

    >>> phi.granger(series).nats.round(2)
    array([[0.  , 0.47, 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.  ]])
    """
    trials = trials_of(series)
    return Granger(**_native.granger(trials, names_of(names, trials), {
        "measures": "i", "partition": "", "mip": "", "normalised": False, "conditional": conditional, "lag": lag,
        **past_of(order), "max_order": max_order, "shrinkage": str(shrinkage), "threads": 1,
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

    >>> phi.te(series, estimator="ksg", source=0, target=[1, 2], given=[3]).pairs[0].given
    (3,)
    >>> phi.te(series, estimator="gauss").matrix().round(2)
    array([[ nan, 0.24, 0.  , 0.  ],
           [0.  ,  nan, 0.  , 0.  ],
           [0.  , 0.  ,  nan, 0.  ],
           [0.  , 0.  , 0.  ,  nan]])
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
