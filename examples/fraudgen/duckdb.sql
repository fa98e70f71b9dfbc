-- Questions to a data set, in the folder above `data`:
--
--   fraudgen --rows 200000 --format parquet --output data
--   duckdb < duckdb.sql
--
-- DuckDB reads the files as they are. Nothing is loaded beforehand.

-- Which fraud costs what, and how much of it is ever reported?
SELECT fraud_type, count(*) AS rows, round(sum(amount), 2) AS lost,
       round(avg(CAST(fraud_reported_at IS NOT NULL AS INTEGER)), 2) AS reported,
       median(fraud_reported_at - timestamp) AS until_reported
FROM 'data/transactions_*.parquet'
WHERE is_fraud
GROUP BY fraud_type
ORDER BY lost DESC;

-- At night, and to somebody new: how much more often is it fraud?
SELECT unusual_time, new_beneficiary, count(*) AS rows,
       round(100 * avg(CAST(is_fraud AS INTEGER)), 2) AS fraud_percent
FROM 'data/transactions_*.parquet'
WHERE type = 'PIX'
GROUP BY ALL
ORDER BY fraud_percent DESC;

-- The longest mule chains: how fast does the money move on?
SELECT ring_id, max(hop) AS hops, round(max(amount), 2) AS amount,
       max(timestamp) - min(timestamp) AS within
FROM 'data/rings_*.parquet'
JOIN 'data/transactions_*.parquet' USING (transaction_id)
WHERE hop IS NOT NULL
GROUP BY ring_id
ORDER BY hops DESC, ring_id
LIMIT 5;

-- What was known about each customer on the morning of 1 July: labels only as far as somebody had
-- reported them by then. To learn with fraud_reported_at instead of is_fraud is to learn what a bank
-- could have.
SELECT customer_id, count(*) AS payments, round(sum(amount), 2) AS paid,
       count(*) FILTER (fraud_reported_at < TIMESTAMP '2025-07-01') AS known_frauds,
       count(*) FILTER (is_fraud) AS true_frauds
FROM 'data/transactions_*.parquet'
WHERE timestamp < TIMESTAMP '2025-07-01'
GROUP BY customer_id
HAVING true_frauds > known_frauds
ORDER BY true_frauds - known_frauds DESC, customer_id
LIMIT 5;
