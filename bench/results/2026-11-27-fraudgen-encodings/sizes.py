"""Prints bytes a row and encodings of each column of the transactions of data sets.

  sizes.py DATA...
"""
import collections
import pathlib
import sys

import pyarrow.parquet

for data in sys.argv[1:]:
    sizes, encodings, rows = collections.Counter(), {}, 0
    for file in pathlib.Path(data, "transactions").glob("*.parquet"):
        metadata = pyarrow.parquet.ParquetFile(file).metadata
        rows += metadata.num_rows
        for group in range(metadata.num_row_groups):
            for i in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(i)
                sizes[chunk.path_in_schema] += chunk.total_compressed_size
                encodings[chunk.path_in_schema] = chunk.encodings
    print(f"{data}: {rows} rows, {sum(sizes.values()) / rows:.2f} bytes a row")
    for name, size in sizes.most_common():
        print(f"  {name:28} {size / rows:7.3f} {' '.join(encodings[name])}")
