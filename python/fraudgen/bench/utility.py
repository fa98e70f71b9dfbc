"""How well boosted trees find the frauds: with the columns alone and with the graph, split by time and by ring."""

import dataclasses
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from ._modules import load
from .data import TRAIN_SHARE, Data, chosen
from .features import Features

Mask = NDArray[numpy.bool_]
TEST_SHARE = 1 - TRAIN_SHARE
MIN_FRAUDS = 20  # in training and in test
ALERTS = 0.01  # share of the rows that are looked at
# An account or a device of more customers than this ties nobody together.
MAX_TIED = 20


@dataclasses.dataclass
class Score:
    """The result of one model on the rows of the test."""

    split: str
    features: str
    auc: float
    precision: float  #: average precision
    found: float  #: share of the frauds among the ALERTS rows of the highest scores
    frauds: int  #: in the test
    prevalence: float  #: share of frauds in the test, which is the average precision of chance


@dataclasses.dataclass
class Group:
    """How well one kind of fraud, or one role, is told from honest rows."""

    what: str
    name: str
    frauds: int
    auc: float
    found: float
    graph_auc: float
    graph_found: float


@dataclasses.dataclass
class Utility:
    scores: list[Score]
    groups: list[Group]
    notes: list[str]


def make_model(threads: int, seed: int) -> Any:
    return load("lightgbm").LGBMClassifier(
        n_estimators=150, learning_rate=0.07, num_leaves=31, min_child_samples=40, n_jobs=threads,
        deterministic=True, force_col_wise=True, random_state=seed, verbose=-1)


def fit_and_score(features: Features, graph: bool, taught: Mask, weight: NDArray[Any], train: Mask, test: Mask,
                  data: Data) -> NDArray[Any]:
    """Returns the scores of the rows of the test."""
    chosen_columns = features.indices(graph)
    data.options.progress(f"model of {len(chosen_columns)} features and {int(train.sum()):,} rows")
    model = make_model(data.options.threads, data.options.seed)
    # Named columns of numbers would need pandas; categories are given by their places.
    model.fit(features.values[train][:, chosen_columns], taught[train], sample_weight=weight[train],
              categorical_feature=features.categorical(graph) or "auto")
    scores: NDArray[Any] = model.booster_.predict(features.values[test][:, chosen_columns],
                                                  num_threads=data.options.threads)
    return scores


def found_among_alerts(label: Mask, score: NDArray[Any], weight: NDArray[Any]) -> float:
    """The share of frauds among the rows of the highest scores."""
    order = numpy.argsort(-score, kind="stable")
    alerted = numpy.cumsum(weight[order]) <= ALERTS * weight.sum()
    return float(weight[order][alerted & label[order]].sum() / weight[label].sum())


def area(label: Mask, score: NDArray[Any], weight: NDArray[Any]) -> float:
    return float(load("sklearn.metrics").roc_auc_score(label, score, sample_weight=weight))


def _judge(split: str, name: str, label: Mask, score: NDArray[Any], weight: NDArray[Any]) -> Score:
    precision = load("sklearn.metrics").average_precision_score(label, score, sample_weight=weight)
    return Score(split, name, area(label, score, weight), float(precision), found_among_alerts(label, score, weight),
                 int(label.sum()), float(weight[label].sum() / weight.sum()))


def ring_split(data: Data, notes: list[str]) -> Optional[tuple[Mask, Mask]]:
    """Returns which sampled rows are learned from, and which are the test, by customer.

    Frauds of customers to learn from are left out if they share a ring of the data with a fraud of the test, or an
    account, device or address of at most MAX_TIED customers: so what a ring uses is on one side only.
    """
    if not data.has("customer"):
        notes.append("no split by ring: the data have no customers")
        return None
    base = data.base
    keys = ["customer", "CASE WHEN ring IS NOT NULL THEN hash(ring, 'ring') END", _few("receiver", "receiver")]
    keys += [_few(name, f"hash({name}, '{name}')") for name in
             (f"shared_{place}" for place in range(len(data.mapping.shared)))]
    in_test = chosen("customer", f"ring {data.options.seed}", TEST_SHARE)
    base.execute(f"""
        CREATE OR REPLACE TABLE ties AS SELECT id, {in_test} AS test, unnest([{', '.join(keys)}]) AS key
        FROM events WHERE label AND customer IS NOT NULL""")
    base.execute("""
        CREATE OR REPLACE TABLE tied AS SELECT DISTINCT id FROM ties
        WHERE NOT test AND key IN (SELECT key FROM ties WHERE test AND key IS NOT NULL)""")
    sides = data.fetch(f"""
        SELECT coalesce({in_test}, false) AS test, id IN (SELECT id FROM tied) AS tied FROM sample ORDER BY place""")
    notes.append(f"split by ring: {data.one('SELECT count(*) FROM tied')} of {data.frauds} frauds are left out, since "
                 "they share something with the test")
    test, tied = sides["test"].astype(bool), sides["tied"].astype(bool)
    return ~test & ~tied, test


def _few(key: str, value: str) -> str:
    """A key of frauds, unless many customers use it."""
    return f"""CASE WHEN {key} IN (
        SELECT {key} FROM events WHERE {key} IN (SELECT {key} FROM events WHERE label)
        GROUP BY 1 HAVING count(DISTINCT customer) <= {MAX_TIED})
        THEN {value} END"""


def _groups(data: Data, label: Mask, weight: NDArray[Any], test: Mask, plain: NDArray[Any],
            graph: NDArray[Any]) -> list[Group]:
    found = []
    cut = [_cut(score, weight[test]) for score in (plain, graph)]
    for what in ("kind", "role"):
        if not data.has(what):
            continue
        names = data.fetch(f"SELECT {what}_ AS v FROM wide")["v"][test]
        honest = ~label[test]
        for name in sorted({each for each in names[label[test]] if each is not None}):
            own = label[test] & (names == name)
            both = own | honest
            areas = [area(own[both], score[both], weight[test][both]) for score in (plain, graph)]
            shares = [float((score[own] >= limit).mean()) for score, limit in zip((plain, graph), cut, strict=True)]
            found.append(Group(what, name, int(own.sum()), areas[0], shares[0], areas[1], shares[1]))
    return found


def _cut(score: NDArray[Any], weight: NDArray[Any]) -> float:
    """Returns the score above which ALERTS of the rows are."""
    order = numpy.argsort(-score, kind="stable")
    last = int(numpy.searchsorted(numpy.cumsum(weight[order]), ALERTS * weight.sum(), side="right"))
    return float(score[order][max(0, last - 1)])


def measure(data: Data, features: Features) -> Utility:
    result = Utility([], [], [])
    rows = data.fetch("SELECT place, label, weight, us, reported FROM sample ORDER BY place")
    label, weight = rows["label"].astype(bool), rows["weight"]
    ordered = rows["place"] < int(data.rows * TRAIN_SHARE)
    for split in ("time", "ring"):
        sides = (ordered, ~ordered) if split == "time" else ring_split(data, result.notes)
        if sides is None:
            continue
        train, test = sides
        if min(label[train].sum(), label[test].sum()) < MIN_FRAUDS:
            result.notes.append(f"no split by {split}: {label[train].sum()} frauds to learn from and "
                                f"{label[test].sum()} to find; {MIN_FRAUDS} of each are needed")
            continue
        scores = []
        for name, graph in (("columns", False), ("columns and graph", True)):
            if graph and features.columns == len(features.names):
                result.notes.append("no features of a graph: the mapping has no customer, or nothing that they share")
                continue
            scores.append(fit_and_score(features, graph, label, weight, train, test, data))
            result.scores.append(_judge(split, name, label[test], scores[-1], weight[test]))
        if split == "time":
            result.groups = _groups(data, label, weight, test, scores[0], scores[-1])
            if data.has("reported"):
                start = rows["us"][test].min()
                known = label & (rows["reported"] < start)
                if known[train].sum() >= MIN_FRAUDS:
                    late = fit_and_score(features, False, known, weight, train, test, data)
                    result.scores.append(_judge(split, "columns, labels reported by then", label[test], late,
                                                weight[test]))
    return result
