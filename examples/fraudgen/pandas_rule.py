"""Trains a simple per-customer rule on the first 70 % of time and tests it on the rest.

  fraudgen --rows 200000 --format parquet --output data
  python pandas_rule.py data
"""

import sys

import pandas


def main(folder: str) -> None:
    columns = ["customer_id", "timestamp", "amount", "new_beneficiary", "is_fraud",
               "fraud_reported_at"]
    rows = pandas.read_parquet(f"{folder}/transactions", columns=columns)
    rows = rows.sort_values("timestamp", ignore_index=True)
    cut = rows["timestamp"].iloc[int(len(rows) * 0.7)]
    before, after = rows[rows["timestamp"] < cut], rows[rows["timestamp"] >= cut]

    # Labels known at the split: frauds that were not yet reported count as legitimate.
    known = before["fraud_reported_at"] < cut
    usual = before[~known].groupby("customer_id")["amount"].quantile(0.9)
    large = after["amount"] > after["customer_id"].map(usual).fillna(usual.median())
    alarm = large & after["new_beneficiary"].fillna(False).astype(bool)

    caught = (alarm & after["is_fraud"]).sum()
    print(f"{len(rows):,} payments, {len(after):,} of them from {cut:%d %B %Y} on")
    print(f"frauds known at the cut: {known.sum():,} of {before['is_fraud'].sum():,}")
    print(f"alarms: {alarm.sum():,}, right {caught / max(alarm.sum(), 1):.1%}, "
          f"of all frauds {caught / max(after['is_fraud'].sum(), 1):.1%}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "data")
