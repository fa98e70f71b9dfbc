"""How useful a labelled data set is for finding fraud, and what gives its frauds away.

``bench("data")`` measures a folder of fraudgen, ``bench("data", mapping="paysim")`` somebody else's data by a mapping
of its columns. docs/fraud-bench.md defines the measures. Needs ``pip install 'fraudgen[bench]'``.
"""

import dataclasses
import datetime
import os
from typing import Optional, Union

from . import behaviour, leaks, utility
from ._modules import BenchError
from .data import Data, Options, choose_mapping, open_data
from .features import make_features

__all__ = ["BenchError", "Bench", "Options", "bench"]


@dataclasses.dataclass
class Bench:
    """The measures of one data set."""

    place: str
    mapping: str
    title: str
    rows: int
    frauds: int
    first: Optional[datetime.datetime]
    last: Optional[datetime.datetime]
    sampled: int
    features: list[str]
    utility: utility.Utility
    leaks: leaks.Leaks
    behaviour: list[behaviour.Multiple]
    against: Optional[str]  #: what the behaviour is compared with; None: rows made one by one


def bench(place: Union[str, "os.PathLike[str]"], mapping: Optional[str] = None,
          against: Union[str, "os.PathLike[str]", None] = None, against_mapping: Optional[str] = None,
          options: Optional[Options] = None) -> Bench:
    """Measures the data set at `place`: a folder, or a file.

    Without `mapping`, the name of one or a file, the first shipped one that fits is taken. `against` is other data,
    such as the real ones that these shall resemble. The same data, options and versions of packages give the same
    numbers. BenchError says what is wrong with the data or the mapping.
    """
    options = options or Options()
    place = os.fspath(place)
    with open_data(place, choose_mapping(place, mapping), options) as data:
        features = make_features(data)
        options.progress("behaviour")
        if against is None:
            multiples = behaviour.measure(data)
        else:
            against = os.fspath(against)
            with open_data(against, choose_mapping(against, against_mapping), options) as reference:
                multiples = behaviour.measure(data, reference)
        return _result(data, features.names, utility.measure(data, features), leaks.measure(data, features), multiples,
                       against)


def _result(data: Data, names: list[str], useful: utility.Utility, leaking: leaks.Leaks,
            multiples: list[behaviour.Multiple], against: Optional[str]) -> Bench:
    return Bench(data.place, data.mapping.name, data.mapping.title, data.rows, data.frauds, data.first, data.last,
                 int(data.one("SELECT count(*) FROM sample")), names, useful, leaking, multiples, against)
