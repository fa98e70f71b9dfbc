"""Measures the CPU time of writing to a local bucket, by fraudgen and by the server.

  s3_processor.py BUILD ROWS [ROUNDS]

Writes the same data set as Parquet with one thread to a folder and to a bucket alternately. Both
share the processors, so wall time says little about either.
"""

import os
import pathlib
import sys
import tempfile

from bucket import Bucket, server_of
from measure import run_all


def processor_of(pid: int) -> float:
    """Returns the user and system seconds of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    build, rows = sys.argv[1], int(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    server = server_of(build)
    if server is None:
        sys.exit("no S3 server (tools/setup.sh test)")
    command = [str(pathlib.Path(build, "bin/fraudgen")), "--quiet", "--rows", str(rows),
               "--format", "parquet", "--threads", "1"]
    print(f"$ bench/fraudgen/s3_processor.py BUILD {rows} {rounds}")
    print(f"{rows:,} rows, Parquet, one thread; load {os.getloadavg()[0]:.1f} at the beginning")
    print(f"{'':10} {'wall s':>8} {'cpu s':>8} {'server s':>9}")
    totals = {"folder": 0.0, "bucket": 0.0, "server": 0.0}
    with tempfile.TemporaryDirectory() as place:
        for number in range(rounds):
            wall, used, _ = run_all([[*command, "--output", f"{place}/folder{number}"]], None)
            totals["folder"] += used
            print(f"{'folder':10} {wall:8.2f} {used:8.2f}")
            with Bucket(server, pathlib.Path(place, f"s3-{number}")) as bucket:
                before = processor_of(bucket.process.pid)
                wall, used, _ = run_all([[*command, *bucket.flags(),
                                          "--output", f"s3://{bucket.NAME}/data"]], None)
                took = processor_of(bucket.process.pid) - before
            totals["bucket"] += used
            totals["server"] += took
            print(f"{'bucket':10} {wall:8.2f} {used:8.2f} {took:9.2f}")
    own = totals["bucket"] / totals["folder"]
    both = (totals["bucket"] + totals["server"]) / totals["folder"]
    print(f"CPU time of fraudgen, bucket / folder: {own:.2f}, including the server: {both:.2f}")


if __name__ == "__main__":
    main()
