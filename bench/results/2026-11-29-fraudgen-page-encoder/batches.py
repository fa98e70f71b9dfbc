# pyarrow writing the finished table in one piece (a column of a row group at a time), and in batches of 8,192 rows to
# buffered row groups, as fraudgen wrote with Arrow: processor time, in turns, one thread.
import sys, time, pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1); pa.set_io_thread_count(1)
STATS = {"account_id", "amount", "customer_id", "driver_id", "is_fraud", "ride_id", "timestamp", "transaction_id"}
for name in ("classic", "coherent"):
    f = f"{sys.argv[1]}/{name}-arrow.parquet"
    meta = pq.ParquetFile(f).metadata.row_group(0)
    cols = [meta.column(i) for i in range(meta.num_columns)]
    dic = [c.path_in_schema for c in cols if c.has_dictionary_page]
    t = pq.read_table(f, use_threads=False).combine_chunks()
    if name == "classic": pass
    enc, comp = {}, {}
    for c in cols:
        for e in ("BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED"):
            if e in c.encodings: enc[c.path_in_schema] = e
        comp[c.path_in_schema] = "NONE" if c.compression == "UNCOMPRESSED" else "ZSTD"
    options = dict(use_dictionary=dic, column_encoding=enc, compression=comp, compression_level={k: 1 for k, v in comp.items() if v == "ZSTD"},
        write_statistics=[c for c in t.column_names if c in STATS], data_page_size=1 << 18, max_rows_per_page=32768, write_batch_size=8192,
        dictionary_pagesize_limit=1 << 30, store_decimal_as_integer=True)
    batches = t.to_batches(max_chunksize=8192)
    def whole():
        out = pa.BufferOutputStream(); pq.write_table(t, out, row_group_size=131072, **options); return out
    def buffered():
        out = pa.BufferOutputStream()
        with pq.ParquetWriter(out, t.schema, **options) as w:
            for b in batches: w.write_batch(b, row_group_size=131072)
        return out
    times = {"in one piece": [], "in batches, buffered": []}
    for _ in range(int(sys.argv[2])):
        for kind, call in zip(times, (whole, buffered)):
            b = time.process_time(); out = call(); times[kind].append(time.process_time() - b)
    for kind, all_ in times.items():
        print(f"{name} pyarrow, {kind}: {1e9*min(all_)/t.num_rows:.0f} ns/row  ({' '.join(f'{1e9*x/t.num_rows:.0f}' for x in all_)})", flush=True)
