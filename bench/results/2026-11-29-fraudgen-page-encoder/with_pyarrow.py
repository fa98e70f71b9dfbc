# pyarrow writing the finished table with the settings of fraudgen, one thread: best processor time.
import sys, time, pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1); pa.set_io_thread_count(1)
STATS = {"account_id", "amount", "customer_id", "driver_id", "is_fraud", "ride_id", "timestamp", "transaction_id"}
for name in ("classic", "coherent"):
    f = f"{sys.argv[1]}/{name}-arrow.parquet"
    meta = pq.ParquetFile(f).metadata.row_group(0)
    cols = [meta.column(i) for i in range(meta.num_columns)]
    dic = [c.path_in_schema for c in cols if c.has_dictionary_page]
    for kind in ("plain", "dictionaries"):
        t = pq.read_table(f, read_dictionary=dic if kind == "dictionaries" else [], use_threads=False)
        t = t.combine_chunks()
        if kind == "dictionaries": t = t.unify_dictionaries()
        enc, comp = {}, {}
        for c in cols:
            e = set(c.encodings)
            if "BYTE_STREAM_SPLIT" in e: enc[c.path_in_schema] = "BYTE_STREAM_SPLIT"
            if "DELTA_BINARY_PACKED" in e: enc[c.path_in_schema] = "DELTA_BINARY_PACKED"
            comp[c.path_in_schema] = "NONE" if c.compression == "UNCOMPRESSED" else "ZSTD"
        level = {k: 1 for k, v in comp.items() if v == "ZSTD"}
        times = []
        for _ in range(int(sys.argv[2])):
            out = pa.BufferOutputStream()
            b = time.process_time()
            pq.write_table(t, out, row_group_size=131072, use_dictionary=dic, column_encoding=enc, compression=comp, compression_level=level,
                           write_statistics=[c for c in t.column_names if c in STATS], data_page_size=1 << 18, max_rows_per_page=32768, write_batch_size=8192, dictionary_pagesize_limit=1 << 30, store_decimal_as_integer=True)
            times.append(time.process_time() - b)
        n = out.getvalue().size
        best = min(times)
        print(f"{name} pyarrow, grouped columns {kind}: {t.num_rows/best/1e3:.0f} k rows/s, {1e9*best/t.num_rows:.0f} ns/row, {n/t.num_rows:.2f} B/row  ({' '.join(f'{1e9*x/t.num_rows:.0f}' for x in times)})")
