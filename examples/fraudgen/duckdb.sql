-- Example queries. Run in the parent directory of `data`:
--
--   fraudgen --rows 200000 --format parquet --output data
--   duckdb < duckdb.sql
--
-- DuckDB reads the files directly, without loading them first.

-- Cost and reported share by type of fraud.
SELECT fraud_type, count(*) AS rows, round(sum(amount), 2) AS lost,
       round(avg(CAST(fraud_reported_at IS NOT NULL AS INTEGER)), 2) AS reported,
       median(fraud_reported_at - timestamp) AS until_reported
FROM 'data/transactions/*.parquet'
WHERE is_fraud
GROUP BY fraud_type
ORDER BY lost DESC;

-- Fraud rate at night and to new receivers.
SELECT unusual_time, new_beneficiary, count(*) AS rows,
       round(100 * avg(CAST(is_fraud AS INTEGER)), 2) AS fraud_percent
FROM 'data/transactions/*.parquet'
WHERE type = 'PIX'
GROUP BY ALL
ORDER BY fraud_percent DESC;

-- The longest mule chains, and how fast the money moves.
SELECT ring_id, max(hop) AS hops, round(max(amount), 2) AS amount,
       max(timestamp) - min(timestamp) AS within
FROM 'data/rings/*.parquet'
JOIN 'data/transactions/*.parquet' USING (transaction_id)
WHERE hop IS NOT NULL
GROUP BY ring_id
ORDER BY hops DESC, ring_id
LIMIT 5;

-- What was known about each customer on the morning of 1 July, with the labels reported by then.
-- Training with fraud_reported_at instead of is_fraud uses only what a bank could have known.
SELECT customer_id, count(*) AS payments, round(sum(amount), 2) AS paid,
       count(*) FILTER (fraud_reported_at < TIMESTAMP '2025-07-01') AS known_frauds,
       count(*) FILTER (is_fraud) AS true_frauds
FROM 'data/transactions/*.parquet'
WHERE timestamp < TIMESTAMP '2025-07-01'
GROUP BY customer_id
HAVING true_frauds > known_frauds
ORDER BY true_frauds - known_frauds DESC, customer_id
LIMIT 5;
