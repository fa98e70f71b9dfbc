"""What a bucket on the same machine costs in processor time: fraudgen's own, and its server's.

  s3_processor.py BUILD ROWS [ROUNDS]

The same data set, Parquet by one thread, to a folder and to a bucket, by turns. Where both share the
processors, wall time says little about either: this says who used how much.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from bucket import Bucket, server_of


def processor_of(pid: int) -> float:
    """User and system seconds of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(command: list[str]) -> tuple[float, float, float]:
    """Wall, user and system seconds."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return time.monotonic() - begin, usage.ru_utime, usage.ru_stime


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
    print(f"{'':10} {'wall s':>8} {'user s':>8} {'system s':>9} {'both':>8} {'server s':>9}")
    totals = {"folder": 0.0, "bucket": 0.0, "server": 0.0}
    with tempfile.TemporaryDirectory() as place:
        for number in range(rounds):
            wall, user, system = run([*command, "--output", f"{place}/folder{number}"])
            totals["folder"] += user + system
            print(f"{'folder':10} {wall:8.2f} {user:8.2f} {system:9.2f} {user + system:8.2f}")
            with Bucket(server, pathlib.Path(place, f"s3-{number}")) as bucket:
                before = processor_of(bucket.process.pid)
                wall, user, system = run([*command, *bucket.flags(),
                                          "--output", f"s3://{bucket.NAME}/data"])
                took = processor_of(bucket.process.pid) - before
            totals["bucket"] += user + system
            totals["server"] += took
            print(f"{'bucket':10} {wall:8.2f} {user:8.2f} {system:9.2f} {user + system:8.2f} "
                  f"{took:9.2f}")
    own = totals["bucket"] / totals["folder"]
    both = (totals["bucket"] + totals["server"]) / totals["folder"]
    print(f"to the bucket fraudgen takes {own:.2f} of the processor time of the folder, with its "
          f"server {both:.2f}")


if __name__ == "__main__":
    main()
