"""Behaviour that generators lose if they make each row by itself, after the four patterns of arXiv:2604.13125.

P1 is the time between events, P2 bursts, P3 what customers share, P4 how often rules about velocity fire. The
measures are ours (docs/fraud-bench.md). Each distance is divided by that between two random halves of the
data: 1 is as near as the data are to themselves. The distance is to the same rows of customers drawn at random, as a
generator of single rows would make them at best, or to other data.
"""

import dataclasses
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .data import Data, chosen

Array = NDArray[Any]
SPLITS = 10  # into halves
MIN_VALUES = 100  # of a measure, in all of the data
# Bins of logarithms, in which distances are counted.
GAP_BINS = numpy.linspace(0, 8, 161)  # decimal, of seconds: up to three years
COUNT_BINS = numpy.linspace(0, 20, 81)  # binary


@dataclasses.dataclass
class Measure:
    """One property of a data set: values, and whose each is."""

    pattern: str
    name: str
    kind: str  #: distribution, correlation or rate
    values: Array
    owners: Array  #: numbers of customers, or of devices
    bins: Optional[Array] = None


@dataclasses.dataclass
class Multiple:
    """A distance as a multiple of the noise."""

    pattern: str
    name: str
    noise: float
    distance: float
    multiple: Optional[float]  #: None without noise


@dataclasses.dataclass
class Rows:
    """Sampled rows of whole customers."""

    customer: Array
    seconds: Array
    label: Array
    receiver: Array
    amount: Array
    shared: dict[str, Array]
    has_amount: bool
    has_receiver: bool

    def ordered(self) -> "Rows":
        order = numpy.lexsort((self.seconds, self.customer))
        return self.taken(order)

    def taken(self, places: Array) -> "Rows":
        return dataclasses.replace(
            self, customer=self.customer[places], seconds=self.seconds[places], label=self.label[places],
            receiver=self.receiver[places], amount=self.amount[places],
            shared={name: values[places] for name, values in self.shared.items()})

    def exchanged(self, seed: int) -> "Rows":
        """The rows as they are, but of customers drawn at random, each as often as before."""
        customer = self.customer[numpy.random.default_rng(seed).permutation(len(self.customer))]
        return dataclasses.replace(self, customer=customer).ordered()


@dataclasses.dataclass
class Sharing:
    """Rows of whole devices (addresses, receivers), and customers of rows drawn at random."""

    name: str
    entity: Array
    customer: Array
    drawn: Array


def _of_customers(data: Data) -> Rows:
    share = min(1.0, data.options.rows / data.rows)
    shared = [f"shared_{place}" for place in range(len(data.mapping.shared))]
    listed = ", ".join(f"coalesce({name}, 0) AS {name}" for name in ("receiver", "amount", *shared))
    found = data.fetch(f"""
        SELECT customer, us // 1000000 AS seconds, label, {listed} FROM events
        WHERE customer IS NOT NULL AND {chosen('customer', f'behaviour {data.options.seed}', share)}
        ORDER BY us, id""")
    return Rows(numpy.unique(found["customer"], return_inverse=True)[1], found["seconds"].astype(numpy.int64),
                found["label"].astype(bool), found["receiver"], found["amount"],
                dict(zip(data.mapping.shared, (found[name] for name in shared), strict=True)),
                data.has("amount"), data.has("receiver")).ordered()


def _of_shared(data: Data) -> list[Sharing]:
    keys = {name: f"shared_{place}" for place, name in enumerate(data.mapping.shared)}
    if data.has("receiver"):
        keys["receiver"] = "receiver"
    found = []
    for name, key in keys.items():
        rows = int(data.one(f"SELECT count(*) FROM events WHERE {key} IS NOT NULL AND customer IS NOT NULL"))
        if rows == 0:
            continue
        share = min(1.0, data.options.rows / rows)
        own = data.fetch(f"""
            SELECT {key} AS entity, customer FROM events WHERE {key} IS NOT NULL AND customer IS NOT NULL
              AND {chosen(key, f'shared {data.options.seed}', share)} ORDER BY us, id""")
        # As many customers, each as often as it has rows.
        drawn = own["customer"] if share == 1 else data.fetch(f"""
            SELECT customer FROM events WHERE {key} IS NOT NULL AND customer IS NOT NULL
            ORDER BY hash(id, 'drawn {data.options.seed}') LIMIT {len(own["customer"])}""")["customer"]
        found.append(Sharing(name, numpy.unique(own["entity"], return_inverse=True)[1], own["customer"], drawn))
    return found


def _gaps(rows: Rows) -> tuple[Array, Array]:
    """Logarithms of the seconds between consecutive rows of a customer, and whose they are."""
    same = rows.customer[1:] == rows.customer[:-1]
    seconds = numpy.diff(rows.seconds)[same]
    return numpy.log10(numpy.maximum(seconds, 1)), rows.customer[1:][same]


def _memory(gaps: Array, owners: Array) -> tuple[Array, Array]:
    """Pairs of consecutive gaps of a customer, less the customer's mean."""
    size = int(owners.max(initial=0)) + 1
    count = numpy.bincount(owners, minlength=size)
    centred = gaps - (numpy.bincount(owners, weights=gaps, minlength=size) / numpy.maximum(count, 1))[owners]
    same = owners[1:] == owners[:-1]
    return numpy.column_stack((centred[:-1][same], centred[1:][same])), owners[1:][same]


def _bursts(rows: Rows, seconds: int) -> tuple[Array, Array]:
    """Logarithms of the number of rows in each run of a customer without a longer pause."""
    if len(rows.customer) == 0:
        return numpy.zeros(0), numpy.zeros(0, dtype=numpy.int64)
    starts = numpy.concatenate(([True], (rows.customer[1:] != rows.customer[:-1])
                                | (numpy.diff(rows.seconds) > seconds)))
    first = numpy.flatnonzero(starts)
    return numpy.log2(numpy.diff(numpy.append(first, len(starts)))), rows.customer[first]


def _lifetimes(rows: Rows) -> tuple[Array, Array]:
    """Logarithms of the seconds from a customer's first row to the last."""
    first = numpy.flatnonzero(numpy.concatenate(([True], rows.customer[1:] != rows.customer[:-1])))
    last = numpy.append(first[1:], len(rows.customer)) - 1
    return numpy.log10(numpy.maximum(rows.seconds[last] - rows.seconds[first], 1)), rows.customer[first]


def _window(rows: Rows, seconds: int) -> Array:
    """Returns the place of the first row of the same customer in the time before each row."""
    # Customers are so far apart that no window reaches the rows of the previous one.
    span = int(rows.seconds.max() - rows.seconds.min()) + seconds + 1
    key = rows.customer * span + (rows.seconds - rows.seconds.min())
    first: Array = numpy.searchsorted(key, key - seconds, side="left")
    return first


def _in_window(values: Array, first: Array) -> Array:
    """Sums of the values from `first` to each row."""
    total = numpy.concatenate(([0], numpy.cumsum(values)))
    return total[1:] - total[first]


def _rules(rows: Rows) -> dict[str, Array]:
    """Returns whether each rule about velocity fires at each row."""
    one = numpy.ones(len(rows.customer))
    hour, day = _window(rows, 3600), _window(rows, 86_400)
    found = {"3 rows in 10 minutes": _in_window(one, _window(rows, 600)) >= 3,
             "5 rows in an hour": _in_window(one, hour) >= 5,
             "10 rows in a day": _in_window(one, day) >= 10}
    if rows.has_amount:
        count = numpy.bincount(rows.customer)
        mean = (numpy.bincount(rows.customer, weights=rows.amount) / numpy.maximum(count, 1))[rows.customer]
        found["10 mean amounts in a day"] = _in_window(rows.amount, day) >= 10 * mean
    same = numpy.concatenate(([False], rows.customer[1:] == rows.customer[:-1]))
    if rows.has_receiver:
        receivers = numpy.unique(rows.receiver, return_inverse=True)[1]
        pair = numpy.unique(rows.customer * (int(receivers.max()) + 1) + receivers, return_index=True)[1]
        new = numpy.zeros(len(rows.customer))
        new[pair] = 1
        new[rows.receiver == 0] = 0
        found["3 new receivers in a day"] = _in_window(new, day) >= 3
    for name, values in rows.shared.items():
        changed = same & (numpy.concatenate((values[:1], values[:-1])) != values) & (values != 0)
        found[f"another {name} within an hour"] = changed & (numpy.arange(len(values)) > hour)
    return found


def measures(rows: Rows) -> list[Measure]:
    """Measures P1, P2 and P4, of all rows and of frauds."""
    if len(rows.customer) == 0:
        return []
    frauds = rows.taken(numpy.flatnonzero(rows.label))
    found = []
    for what, some in (("", rows), (" of frauds", frauds)):
        gaps, owners = _gaps(some)
        found.append(Measure("P1", f"time between rows{what}", "distribution", gaps, owners, GAP_BINS))
        pairs, of_pairs = _memory(gaps, owners)
        found.append(Measure("P1", f"memory of times{what}", "correlation", pairs, of_pairs))
        for name, seconds in (("10 minutes", 600), ("an hour", 3600), ("a day", 86_400)):
            found.append(Measure("P2", f"rows in bursts{what}, pauses up to {name}", "distribution",
                                 *_bursts(some, seconds), COUNT_BINS))
    found.append(Measure("P2", "first to last row of a customer", "distribution", *_lifetimes(rows), GAP_BINS))
    fired = _rules(rows)
    for what, mask in (("", numpy.ones(len(rows.label), dtype=bool)), (" at frauds", rows.label)):
        for name, values in fired.items():
            found.append(Measure("P4", f"{name}{what}", "rate", values[mask].astype(float), rows.customer[mask]))
    return found


def sharing(each: Sharing, exchanged: Optional[int] = None) -> Measure:
    """Measures P3: the number of customers of each device, address or receiver."""
    customer = each.customer
    if exchanged is not None:
        customer = each.drawn[numpy.random.default_rng(exchanged).permutation(len(each.drawn))[:len(customer)]]
    codes = numpy.unique(customer, return_inverse=True)[1].astype(numpy.int64)
    pairs = numpy.unique(each.entity.astype(numpy.int64) * (int(codes.max(initial=0)) + 1) + codes)
    entities = pairs // (int(codes.max(initial=0)) + 1)
    users = numpy.bincount(entities)
    return Measure("P3", f"customers of each {each.name}", "distribution", numpy.log2(numpy.maximum(users, 1)),
                   numpy.arange(len(users)), COUNT_BINS)


def _summary(measure: Measure, mask: Array) -> Array:
    values = measure.values[mask]
    if measure.kind == "rate":
        return numpy.array([values.mean() if len(values) else 0.0])
    if measure.kind == "correlation":
        scale = numpy.sqrt((values[:, 0] ** 2).sum() * (values[:, 1] ** 2).sum())
        return numpy.array([(values[:, 0] * values[:, 1]).sum() / scale if scale else 0.0])
    assert measure.bins is not None
    counts = numpy.histogram(numpy.clip(values, measure.bins[0], measure.bins[-1]), measure.bins)[0]
    # The area between cumulative shares is the Wasserstein distance.
    cumulative: Array = numpy.cumsum(counts) / max(1, counts.sum()) * (measure.bins[1] - measure.bins[0])
    return cumulative


def _distance(one: Measure, first: Array, other: Measure, second: Array) -> float:
    return float(numpy.abs(_summary(one, first) - _summary(other, second)).sum())


def _half(owners: Array, seed: int) -> Array:
    side: Array = numpy.random.default_rng(seed).permutation(int(owners.max(initial=0)) + 1) % 2 == 0
    return side[owners]


def compare(one: Measure, other: Measure, seed: int) -> Optional[Multiple]:
    """Returns the distance of halves of two data sets, by that of the halves of the first."""
    if min(len(one.values), len(other.values)) < MIN_VALUES:
        return None
    noise, distance = [], []
    for split in range(SPLITS):
        half = _half(one.owners, seed * 1000 + split)
        noise.append(_distance(one, half, one, ~half))
        distance.append(_distance(one, half, other, _half(other.owners, seed * 1000 + SPLITS + split)))
    floor, far = float(numpy.mean(noise)), float(numpy.mean(distance))
    return Multiple(one.pattern, one.name, floor, far, far / floor if floor else None)


def measure(data: Data, against: Optional[Data] = None) -> list[Multiple]:
    """Returns how far rows made one by one are from the data, or how far the data are from others."""
    if not data.has("customer"):
        return []
    seed = data.options.seed
    rows = _of_customers(data)
    shared = {each.name: each for each in _of_shared(data)}
    own = measures(rows) + [sharing(each) for each in shared.values()]
    if against is None:
        others = measures(rows.exchanged(seed)) + [sharing(each, seed) for each in shared.values()]
        found = [compare(one, other, seed) for one, other in zip(own, others, strict=True)]
    else:
        named = {each.name: each for each in own}
        reference = measures(_of_customers(against)) + [sharing(each) for each in _of_shared(against)]
        found = [compare(each, named[each.name], seed) for each in reference if each.name in named]
    return sorted((each for each in found if each is not None), key=lambda each: each.pattern)
