#!/usr/bin/env python3
"""A group-by of cuDF, exact; prints its result.

  reveza run -- python cudf_groups.py [ROWS]
"""

import sys

import cudf
import cupy

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
number = cupy.arange(rows, dtype="int64")
frame = cudf.DataFrame({"key": number * 2654435761 % 1009, "value": number % 1_000_003})
sums = frame.groupby("key").value.sum().sort_index()
wanted = int((number % 1_000_003).sum())
print(f"{len(sums)} groups, {int(sums.sum())}, {int(sums.sum()) - wanted} wrong")
