"""Rewrites the transactions of a data set with pyarrow, decimals as doubles or as DECIMAL of scaled integers, and
tells what pandas makes of each.

  decimals.py DATA FOLDER
"""
import pathlib
import resource
import subprocess
import sys
import time

COLUMNS = {"amount": 2, "accumulated_amount_24h": 2, "balance_after": 2, "distance_from_last_txn_km": 2,
           "risk_score": 2, "geolocation_lat": 6, "geolocation_lon": 6}


def write(data: str, folder: pathlib.Path) -> None:
    import pyarrow
    import pyarrow.parquet
    table = pyarrow.parquet.read_table(f"{data}/transactions", columns=list(COLUMNS))
    pyarrow.parquet.write_table(table, folder / "doubles.parquet", compression="zstd", use_dictionary=False,
                                use_byte_stream_split=True, row_group_size=125_000)
    for name, places in COLUMNS.items():
        table = table.set_column(table.column_names.index(name), name,
                                 table[name].cast(pyarrow.decimal128(18, places), safe=False))
    pyarrow.parquet.write_table(table, folder / "decimals.parquet", compression="zstd", use_dictionary=False,
                                store_decimal_as_integer=True, row_group_size=125_000,
                                column_encoding=dict.fromkeys(COLUMNS, "BYTE_STREAM_SPLIT"))
    for kind in ("doubles", "decimals"):
        metadata = pyarrow.parquet.ParquetFile(folder / f"{kind}.parquet").metadata
        size = sum(metadata.row_group(group).column(i).total_compressed_size
                   for group in range(metadata.num_row_groups) for i in range(len(COLUMNS)))
        print(f"{kind}: {size / metadata.num_rows:.2f} bytes a row in these {len(COLUMNS)} columns")


def read(file: str) -> None:
    import numpy
    import pandas
    start = time.process_time()
    frame = pandas.read_parquet(file)
    print(f"{pathlib.Path(file).stem}: {len(frame)} rows, read in {time.process_time() - start:.2f} s of CPU, "
          f"{frame.memory_usage(deep=True).sum() / 1e6:.0f} MB, "
          f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000} MB")
    for what, call in (("numpy.sin(latitude)", lambda: numpy.sin(frame.geolocation_lat)),
                       ("amount * 1.1", lambda: frame.amount * 1.1),
                       ("numpy.log1p(amount)", lambda: numpy.log1p(frame.amount)),
                       ("amount.quantile(0.9)", lambda: frame.amount.quantile(0.9))):
        try:
            call()
            print(f"  {what}: works")
        except TypeError as error:
            print(f"  {what}: {error}")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        read(sys.argv[1])
    else:
        target = pathlib.Path(sys.argv[2])
        write(sys.argv[1], target)
        for kind in ("doubles", "decimals"):
            subprocess.run([sys.executable, __file__, str(target / f"{kind}.parquet")], check=True)
