"""What gives fraud away: single columns that rank frauds, and rules that are fraud only, or never.

Columns are judged on the last part of the period with what the first part says. A rule is an interval of a number, a
category or a pair of them, or a leaf of a tree of depth 3; of fewer than MIN_ROWS rows it may be pure by chance.
"""

import dataclasses
import itertools
from typing import Any

import numpy
from numpy.typing import NDArray

from ._modules import load
from .data import TRAIN_SHARE, Data
from .features import Features, identifiers
from .utility import Mask, area

MIN_ROWS = 50
PURE = 0.95
BLIND = 0.05  # share of all rows, none of them fraud
BINS = 30
MAX_PAIRED = 60  # texts and flags, of which all pairs are tried
PRIOR = 10  # rows with the mean share of frauds, by which that of a rare value is drawn to the mean


@dataclasses.dataclass
class Single:
    column: str
    auc: float
    graph: bool  #: a feature of the graph, not a column of the data


@dataclasses.dataclass
class Rule:
    kind: str  #: pure or blind
    rule: str
    rows: float  #: of the data, estimated from the sample
    frauds: float


@dataclasses.dataclass
class Leaks:
    singles: list[Single]
    rules: list[Rule]


def _by_past(codes: NDArray[Any], label: Mask, weight: NDArray[Any], train: Mask) -> NDArray[Any]:
    """The share of frauds of each row's value in the training part."""
    size = int(codes.max()) + 1
    rows = numpy.bincount(codes[train], weights=weight[train], minlength=size)
    frauds = numpy.bincount(codes[train], weights=weight[train] * label[train], minlength=size)
    mean = frauds.sum() / rows.sum()
    shares: NDArray[Any] = ((frauds + PRIOR * mean) / (rows + PRIOR))[codes]
    return shares


def _of_number(values: NDArray[Any], label: Mask, weight: NDArray[Any], train: Mask) -> float:
    present = ~numpy.isnan(values)
    if not present[train].any():
        return 0.5
    filled = numpy.where(present, values, numpy.nanmin(values) - 1)
    edges = numpy.unique(numpy.nanquantile(values[train], numpy.linspace(0, 1, BINS + 1)))
    bins = numpy.where(present, numpy.digitize(values, edges) + 1, 0)
    straight = area(label[~train], filled[~train], weight[~train])
    # The relation need not be monotonic.
    binned = area(label[~train], _by_past(bins, label, weight, train)[~train], weight[~train])
    return max(straight, 1 - straight, binned)


def singles(data: Data, features: Features, label: Mask, weight: NDArray[Any], train: Mask) -> list[Single]:
    found = []
    for place, name in enumerate(features.names):
        values = features.values[:, place].astype(float)
        if name in features.categories:
            codes = numpy.where(numpy.isnan(values), -1, values).astype(numpy.int64) + 1
            score = area(label[~train], _by_past(codes, label, weight, train)[~train], weight[~train])
        else:
            score = _of_number(values, label, weight, train)
        found.append(Single(name, score, place >= features.columns))
    for name in identifiers(data):
        key = data.fetch(f'SELECT coalesce(hash("{name}"), 0) AS v FROM wide')["v"]
        codes = numpy.unique(key, return_inverse=True)[1]
        score = area(label[~train], _by_past(codes, label, weight, train)[~train], weight[~train])
        found.append(Single(name, score, False))
    return sorted(found, key=lambda each: (-each.auc, each.column))


class _Miner:
    def __init__(self, label: Mask, weight: NDArray[Any]) -> None:
        self.label, self.weight, self.total = label, weight, weight.sum()
        # Where honest rows are a sample, there may be some that were not drawn: with 95 % confidence, no more than
        # three times their weight.
        honest = float(weight[~label].max(initial=1))
        self.unseen = 3 * honest if honest > 1 else 0.0
        self.found: list[Rule] = []

    def judge(self, rule: str, rows: float, frauds: float, sampled: int) -> None:
        if sampled >= MIN_ROWS and frauds >= PURE * (rows + self.unseen):
            self.found.append(Rule("pure", rule, rows, frauds))
        elif rows >= BLIND * self.total and frauds == 0:
            self.found.append(Rule("blind", rule, rows, frauds))

    def groups(self, codes: NDArray[Any], name_of: Any) -> None:
        """Judges the rows of each code."""
        rows = numpy.bincount(codes, weights=self.weight)
        frauds = numpy.bincount(codes, weights=self.weight * self.label)
        sampled = numpy.bincount(codes)
        for code in numpy.flatnonzero(sampled):
            self.judge(name_of(int(code)), float(rows[code]), float(frauds[code]), int(sampled[code]))

    def intervals(self, name: str, values: NDArray[Any]) -> None:
        """Judges the longest runs of values that only frauds have."""
        present = ~numpy.isnan(values)
        unique, codes = numpy.unique(values[present], return_inverse=True)
        sampled = numpy.bincount(codes, minlength=len(unique))
        frauds = numpy.bincount(codes[self.label[present]], minlength=len(unique))
        only = (sampled == frauds).astype(numpy.int8)
        edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], only, [0]))))
        weight = numpy.bincount(codes, weights=self.weight[present], minlength=len(unique))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            self.judge(f"{name} in {unique[first]:g} to {unique[end - 1]:g}", float(weight[first:end].sum()),
                       float(weight[first:end].sum()), int(sampled[first:end].sum()))


def _as_categories(features: Features) -> list[tuple[str, NDArray[Any], list[str]]]:
    """Texts, flags, small numbers, and whether a value is there at all."""
    found = []
    for place, name in enumerate(features.names):
        values = features.values[:, place]
        missing = numpy.isnan(values)
        if name in features.categories:
            texts = ["null", *features.categories[name]]
        else:
            distinct = numpy.unique(values[~missing])
            if not 1 <= len(distinct) <= 24 or place >= features.columns:
                continue
            values = numpy.searchsorted(distinct, values).astype(float)
            texts = ["null", *(f"{each:g}" for each in distinct)]
        found.append((name, numpy.where(missing, 0, values + 1).astype(numpy.int64), texts))
    return found


def _tree_rules(miner: _Miner, features: Features, seed: int) -> None:
    tree = load("sklearn.tree").DecisionTreeClassifier(max_depth=3, min_samples_leaf=MIN_ROWS, random_state=seed)
    values = numpy.nan_to_num(features.values, nan=-1.0)
    tree.fit(values, miner.label, sample_weight=miner.weight)
    shape = tree.tree_
    paths = {0: ""}
    for node in range(shape.node_count):
        if shape.children_left[node] < 0:
            continue
        name, limit = features.names[shape.feature[node]], shape.threshold[node]
        before = f"{paths[node]} and " if paths[node] else ""
        paths[shape.children_left[node]] = f"{before}{name} <= {limit:g}"
        paths[shape.children_right[node]] = f"{before}{name} > {limit:g}"
    miner.groups(tree.apply(values), lambda node: f"{paths[node]} (null is -1)")


def rules(features: Features, label: Mask, weight: NDArray[Any], seed: int) -> list[Rule]:
    miner = _Miner(label, weight)
    for place, name in enumerate(features.names):
        if name not in features.categories:
            miner.intervals(name, features.values[:, place].astype(float))
            missing = numpy.isnan(features.values[:, place]).astype(numpy.int64)
            if place < features.columns and missing.any():
                miner.groups(missing, lambda code, name=name: f"{name} is {'null' if code else 'not null'}")
    few = _as_categories(features)
    for name, codes, texts in few:
        miner.groups(codes, lambda code, name=name, texts=texts: f"{name} = {texts[code]}")
    paired = [each for each in few if each[0] in features.categories or len(each[2]) <= 3][:MAX_PAIRED]
    for (one, codes, texts), (other, others, words) in itertools.combinations(paired, 2):
        width = len(words)
        miner.groups(codes * width + others, lambda code, one=one, texts=texts, other=other, words=words, width=width:
                     f"{one} = {texts[code // width]} and {other} = {words[code % width]}")
    _tree_rules(miner, features, seed)
    unique = {(each.kind, each.rule): each for each in miner.found}
    # A pair is no news if one half is a rule by itself.
    news = [each for each in unique.values() if not any(
        (each.kind, half) in unique for half in each.rule.split(" and ") if half != each.rule)]
    return sorted(news, key=lambda each: (each.kind != "pure", -each.rows, each.rule))


def measure(data: Data, features: Features) -> Leaks:
    data.options.progress("rules that give fraud away")
    rows = data.fetch("SELECT place, label, weight FROM sample ORDER BY place")
    label, weight = rows["label"].astype(bool), rows["weight"]
    train = rows["place"] < int(data.rows * TRAIN_SHARE)
    if not (label[train].any() and label[~train].any()):
        return Leaks([], rules(features, label, weight, data.options.seed))
    return Leaks(singles(data, features, label, weight, train), rules(features, label, weight, data.options.seed))
