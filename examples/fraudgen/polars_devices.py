"""Finds devices shared by several customers and the share of fraud in their payments.

  fraudgen --rows 200000 --format parquet --output data
  python polars_devices.py data
"""

import sys

import polars


def main(folder: str) -> None:
    devices = polars.scan_parquet(f"{folder}/devices/")
    transactions = polars.scan_parquet(f"{folder}/transactions/")
    sharing = devices.group_by("device_id").agg(polars.col("customer_id").n_unique().alias("users"))
    found = (transactions.join(sharing, on="device_id")
             .group_by("users")
             .agg(polars.col("device_id").n_unique().alias("devices"), polars.len().alias("payments"),
                  polars.col("is_fraud").mean().round(4).alias("fraud_share"))
             .sort("users").collect())
    with polars.Config(tbl_rows=-1):
        print(found)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "data")
