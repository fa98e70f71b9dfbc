"""Computes each customer's last 24 hours with Spark, and a table of days partitioned by month.

  fraudgen --rows 200000 --format parquet --output data
  spark-submit spark_days.py data days

For a bucket: s3a://bucket/prefix instead of data.
"""

import sys

from pyspark.sql import SparkSession, Window, functions as f


def main(source: str, target: str) -> None:
    # Timestamps are in Brasilia time without a zone, so the session must not convert them.
    spark = (SparkSession.builder.appName("fraudgen days")
             .config("spark.sql.session.timeZone", "America/Sao_Paulo").getOrCreate())
    transactions = spark.read.parquet(f"{source}/transactions")
    day = (Window.partitionBy("customer_id")
           .orderBy(f.col("timestamp").cast("timestamp").cast("long")).rangeBetween(-86_400, -1))
    rows = transactions.withColumn("paid_in_24_hours",
                                   f.coalesce(f.round(f.sum("amount").over(day), 2), f.lit(0.0)))
    days = (rows.groupBy(f.to_date("timestamp").alias("day"))
            .agg(f.count("*").alias("payments"), f.round(f.sum("amount"), 2).alias("amount"),
                 f.max("paid_in_24_hours").alias("most_in_24_hours"),
                 f.sum(f.col("is_fraud").cast("int")).alias("frauds"))
            .withColumn("month", f.date_format("day", "yyyy-MM")))
    days.write.mode("overwrite").partitionBy("month").parquet(target)
    spark.read.parquet(target).orderBy(f.desc("frauds"), "day").show(5)
    spark.stop()


if __name__ == "__main__":
    main(*(sys.argv[1:3] if len(sys.argv) > 2 else ("data", "days")))
