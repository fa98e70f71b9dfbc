#!/usr/bin/env python3
"""Measures how hard the frauds of the coherent model are to detect, by a model and by single
columns.

  bench/fraud_ml.py BUILD [--rides] [--rows N] [--seeds 1,2,...] [--difficulties 150,500,850] [--check]

Generates data with BUILD/bin/fraudgen and splits them by time: the first 70 % for training, the
rest for testing. Prints the area under the ROC curve (AUC) of gradient-boosted trees, of the same
trees with features of the graph of accounts, of the trees trained on the delayed labels that a bank
would have, and of each column alone (identifiers and categories encoded by their fraud rate in the
training set). --rides evaluates rides instead, without graph and delayed labels. --check exits with
1 unless, at difficulty 500, the AUC of every single column is below 0.75, and the AUC of the trees
falls as difficulty rises.

Needs the wheels of tools/requirements-ml.txt.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import lightgbm
import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

TRAIN_SHARE = 0.7
MAX_SINGLE_AUC = 0.75
TRUTH = ("is_fraud", "fraud_type", "fraud_role", "fraud_reported_at")
CATEGORIES = ("type", "channel", "mcc_code", "card_entry", "card_brand", "card_type", "pix_key_type",
              "destination_bank", "status", "refusal_reason", "mcc_risk_level")
NUMBERS = ("amount", "installments", "distance_from_last_txn_km", "time_since_last_txn_min",
           "transactions_last_24h", "accumulated_amount_24h", "risk_score", "balance_after",
           "geolocation_lat", "geolocation_lon")
MAX_CATEGORIES = 64  # distinct values of a text column used as a feature
FLAGS = ("cvv_validated", "auth_3ds", "unusual_time", "new_beneficiary")
# Features of the graph of payments before each row: numbers of uses of receiver and device, of
# their customers, and of payments to this customer.
GRAPH = """
  with firsts as (
    select t.rowid as place, t.*, a.customer_id as owner,
      row_number() over (partition by counterparty_account, t.customer_id order by t.rowid) = 1 as payer,
      row_number() over (partition by device_id, t.customer_id order by t.rowid) = 1 as user
    from t left join accounts a on a.account_id = t.counterparty_account)
  select count(*) over r as receiver_rows, sum(payer::int) over r as receiver_payers,
    count(*) over d as device_rows, sum(user::int) over d as device_customers,
    f.place - lag(f.place) over r as since_receiver, coalesce(p.times, 0) as was_paid
  from firsts f asof left join (
    select owner, place, row_number() over (partition by owner order by place) as times
    from firsts where owner is not null) p on f.customer_id = p.owner and f.place > p.place
  window r as (partition by counterparty_account order by f.place),
    d as (partition by device_id order by f.place)
  order by f.place
"""


def generate(build: pathlib.Path, folder: str, kind: str, rows: int, seed: int,
             difficulty: int) -> None:
    subprocess.run([build / "bin" / "fraudgen", "--quiet", "--type", kind, "--rows", str(rows),
                    "--seed", str(seed), "--difficulty", f"{difficulty / 1000}", "--format", "csv",
                    "--file-rows", "0", "--output", folder], check=True)


def load(folder: str) -> tuple[duckdb.DuckDBPyConnection, list[str]]:
    base = duckdb.connect(config={"threads": 1})
    base.sql(f"create table t as select * from read_csv('{folder}/transactions/*.csv', "
             "sample_size=-1) order by timestamp, transaction_id")
    base.sql(f"create table accounts as select * from read_csv('{folder}/accounts/*.csv')")
    return base, [name for name, *_ in base.sql("describe t").fetchall()]


def smoothed_rate(frauds, count, mean):
    """Fraud rate of a value in the training set, shrunk to the mean for rare values."""
    return (frauds + 10 * mean) / (count + 10)


def symmetric_auc(label: np.ndarray, score: np.ndarray) -> float:
    area = roc_auc_score(label, score)
    return max(area, 1 - area)


def single_number_auc(values: np.ndarray, label: np.ndarray, train: np.ndarray) -> float:
    present = ~np.isnan(values)
    filled = np.where(present, values, np.nanmin(values) - 1)
    # The relation need not be monotonic, so thirty bins are tried too.
    edges = np.unique(np.nanquantile(values[train], np.linspace(0, 1, 31)))
    bins = np.where(present, np.digitize(values, edges) + 1, 0)
    count = np.bincount(bins[train], minlength=bins.max() + 1)
    frauds = np.bincount(bins[train], weights=label[train], minlength=bins.max() + 1)
    score = smoothed_rate(frauds, count, label[train].mean())[bins]
    return max(symmetric_auc(label[~train], filled[~train]), roc_auc_score(label[~train], score[~train]))


def single_text_auc(base: duckdb.DuckDBPyConnection, column: str, label: np.ndarray,
                    train: np.ndarray) -> float:
    value = "hour(timestamp)" if column == "timestamp" else f"coalesce({column}::varchar, '')"
    found = base.sql(f"""
        select coalesce(k.n, 0) as n, coalesce(k.f, 0) as f from (select rowid as place, {value} as v
          from t) left join (select {value} as v, count(*) as n, sum(is_fraud::int) as f from t
          where rowid < {train.sum()} group by 1) k using (v) order by place""").fetchnumpy()
    score = smoothed_rate(found["f"].astype(float), found["n"].astype(float), label[train].mean())
    return roc_auc_score(label[~train], score[~train])


def features(base: duckdb.DuckDBPyConnection) -> np.ndarray:
    """Returns numbers and flags, ordinal codes of categories, and the hour."""
    wanted = [f"{name}::double as {name}" for name in NUMBERS + FLAGS]
    for name in CATEGORIES:
        values = base.sql(f"select list(distinct {name} order by {name}) from t").fetchall()[0][0]
        listed = ", ".join(f"'{value}'" for value in values or [])
        wanted.append(f"list_position([{listed}], {name}::varchar)::double as {name}")
    found = base.sql(f"select {', '.join(wanted)}, hour(timestamp)::double as hour from t "
                     "order by rowid").fetchnumpy()
    return np.column_stack([np.ma.filled(np.ma.asarray(found[name]), np.nan) for name in found])


def make_model() -> lightgbm.LGBMClassifier:
    # One thread makes floating-point sums, and thus the model, reproducible.
    return lightgbm.LGBMClassifier(n_estimators=150, learning_rate=0.07, num_leaves=31,
                                   min_child_samples=40, n_jobs=1, deterministic=True,
                                   force_col_wise=True, random_state=0, verbose=-1)


def evaluate_payments(build: pathlib.Path, rows: int, seed: int, difficulty: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        generate(build, folder, "transactions", rows, seed, difficulty)
        base, columns = load(folder)
    table = features(base)
    graph = base.sql(GRAPH).fetchnumpy()
    wide = np.column_stack([table, *(np.ma.filled(np.ma.asarray(graph[name]).astype(float), np.nan)
                                     for name in graph)])
    truth = base.sql(f"""select is_fraud::int as label, coalesce(fraud_reported_at <
        (select timestamp from t where rowid = {int(rows * TRAIN_SHARE)}), false)::int as known
        from t order by rowid""").fetchnumpy()
    label, known = truth["label"], truth["known"]
    train = np.arange(len(label)) < int(rows * TRAIN_SHARE)
    names = NUMBERS + FLAGS + CATEGORIES
    categorical = [i for i, name in enumerate(names) if name in CATEGORIES]
    singles = {}
    for column in columns:
        if column in NUMBERS + FLAGS:
            singles[column] = single_number_auc(table[:, names.index(column)], label, train)
        elif column not in TRUTH:
            singles[column] = single_text_auc(base, column, label, train)

    def area(data: np.ndarray, taught: np.ndarray) -> tuple[float, float]:
        tree = make_model().fit(data[train], taught[train], categorical_feature=categorical)
        score = tree.predict_proba(data[~train])[:, 1]
        return (roc_auc_score(label[~train], score), average_precision_score(label[~train], score))

    tree, precision = area(table, label)
    with_graph, graph_precision = area(wide, label)
    delayed, _ = area(table, known)
    return {"tree": tree, "precision": precision, "graph": with_graph,
            "graph_precision": graph_precision, "delayed": delayed, "singles": singles}


def evaluate_rides(build: pathlib.Path, rows: int, seed: int, difficulty: int) -> dict:
    """Evaluates a model on numbers, flags, the hour and text categories, and every column alone."""
    base = duckdb.connect(config={"threads": 1})
    with tempfile.TemporaryDirectory() as folder:
        generate(build, folder, "rides", rows, seed, difficulty)
        base.sql(f"create table t as select * from read_csv('{folder}/rides/*.csv', sample_size=-1) "
                 "order by timestamp, ride_id")
    label = base.sql("select is_fraud::int as f from t order by rowid").fetchnumpy()["f"]
    train = np.arange(rows) < int(rows * TRAIN_SHARE)
    table, categorical, singles = [], [], {}
    for column, kind, *_ in base.sql("describe t").fetchall():
        if column in TRUTH:
            continue
        if kind in ("BIGINT", "DOUBLE", "BOOLEAN"):
            found = base.sql(f"select {column}::double as v from t order by rowid").fetchnumpy()["v"]
            values = np.ma.filled(np.ma.asarray(found), np.nan)
            singles[column] = single_number_auc(values, label, train)
            table.append(values)
            continue
        singles[column] = single_text_auc(base, column, label, train)
        value = "hour(timestamp)" if column == "timestamp" else f"coalesce({column}::varchar, '')"
        codes = base.sql(f"select dense_rank() over (order by {value}) as v from t "
                         "order by rowid").fetchnumpy()["v"]
        if codes.max() <= MAX_CATEGORIES:
            categorical.append(len(table))
            table.append(codes.astype(float))
    data = np.column_stack(table)
    tree = make_model().fit(data[train], label[train], categorical_feature=categorical)
    score = tree.predict_proba(data[~train])[:, 1]
    return {"tree": roc_auc_score(label[~train], score),
            "precision": average_precision_score(label[~train], score), "singles": singles}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rides", action="store_true", help="evaluate rides instead of payments")
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--difficulties", default="150,500,850")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--all", action="store_true",
                        help="print all columns instead of the best five")
    arguments = parser.parse_args()
    violations = []
    evaluate = evaluate_rides if arguments.rides else evaluate_payments
    more = "" if arguments.rides else "  graph  precision  delayed labels"
    print(f"seed difficulty  tree  precision{more}  best single columns")
    for seed in map(int, arguments.seeds.split(",")):
        before = 1.0
        for difficulty in sorted(map(int, arguments.difficulties.split(","))):
            found = evaluate(arguments.build, arguments.rows, seed, difficulty)
            ranked = sorted(found["singles"].items(), key=lambda item: -item[1])
            shown = ranked if arguments.all else ranked[:5]
            more = "" if arguments.rides else (
                f" {found['graph']:7.3f} {found['graph_precision']:9.3f} {found['delayed']:10.3f}")
            print(f"{seed:4} {difficulty:10} {found['tree']:.3f} {found['precision']:9.3f}{more}"
                  "         " + ", ".join(f"{name} {area:.3f}" for name, area in shown), flush=True)
            if difficulty == 500 and ranked[0][1] >= MAX_SINGLE_AUC:
                violations.append(f"seed {seed}: {ranked[0][0]} alone reaches an AUC of "
                                  f"{ranked[0][1]:.3f}, expected below {MAX_SINGLE_AUC}")
            if found["tree"] >= before:
                violations.append(f"seed {seed}: difficulty {difficulty} is not harder than the "
                                  "previous one")
            before = found["tree"]
    for line in violations:
        print(line)
    return 1 if arguments.check and violations else 0


if __name__ == "__main__":
    sys.exit(main())
