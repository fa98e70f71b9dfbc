import sys, pyarrow.parquet as pq, duckdb, polars as pl
for name in ("classic", "coherent"):
    a, o = (f"{sys.argv[1]}/{name}-{w}.parquet" for w in ("arrow", "own"))
    ta, to = pq.read_table(a), pq.read_table(o)
    assert ta.schema.equals(to.schema, check_metadata=True), name
    for c in ta.column_names:
        if not ta[c].equals(to[c]): print("DIFFERS", name, c)
    pa, po = pl.read_parquet(a), pl.read_parquet(o)
    print(name, "polars", pa.equals(po), "pyarrow", ta.equals(to))
    print(" duckdb", duckdb.sql(f"select count(*) from (from '{a}' except all from '{o}')").fetchall(), duckdb.sql(f"select count(*) from '{o}'").fetchall())
    ma, mo = pq.ParquetFile(a).metadata, pq.ParquetFile(o).metadata
    for g in range(ma.num_row_groups):
        for c in range(ma.num_columns):
            x, y = ma.row_group(g).column(c), mo.row_group(g).column(c)
            d = []
            if str(x.statistics) != str(y.statistics): d.append(f"stats {x.statistics} {y.statistics}")
            if set(x.encodings) != set(y.encodings): d.append(f"{x.encodings} {y.encodings}")
            if x.compression != y.compression or x.num_values != y.num_values: d.append("codec or values")
            if y.total_compressed_size > x.total_compressed_size * 1.002 + 50: d.append(f"size {x.total_compressed_size} {y.total_compressed_size}")
            if d and g < 2: print(name, g, x.path_in_schema, *d)
        print(name, g, "bytes", sum(ma.row_group(g).column(c).total_compressed_size for c in range(ma.num_columns)), sum(mo.row_group(g).column(c).total_compressed_size for c in range(ma.num_columns)))
