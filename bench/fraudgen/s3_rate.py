"""How near rows to a bucket on the same machine come to rows to nowhere.

  s3_rate.py ROWS ROUNDS PROGRAM...

Parquet by one thread, by turns: one table to nowhere by the last program, which is the limit, then all
tables to a bucket by each program. Of each: wall time, fraudgen's processor time, that of its thread
that makes rows, wall time without what that thread was ready and had no processor ("undist."), the
server's processor time, fraudgen's memory. The shares are of the best of all rounds, of wall time and
of undisturbed time: where others use the machine only the latter says much.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from bucket import Bucket, server_of
from s3_processor import processor_of


def look_at(pid: int, threads: dict[str, tuple[float, float, float]], now: float) -> None:
    """The seconds that each thread of a process has run and has waited for a processor, and when."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            ran, waited, _ = pathlib.Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
            threads[thread] = (int(ran) / 1e9, int(waited) / 1e9, now)
    except OSError:
        pass  # it has ended meanwhile


def run(command: list[str]) -> dict[str, float]:
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    threads: dict[str, tuple[float, float, float]] = {}
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        now = time.monotonic() - begin
        if pid != 0:
            break
        look_at(child.pid, threads, now)
        time.sleep(0.005)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    # The one that makes rows is the one that runs most.
    maker = max(threads.values())
    return {"wall": now, "processor": usage.ru_utime + usage.ru_stime, "maker": maker[0],
            "undisturbed": now - maker[1], "MB": usage.ru_maxrss * 1024 / 1e6}


def main() -> None:
    rows, rounds, programs = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    server = server_of("build")
    if server is None:
        sys.exit("no S3 server (tools/setup.sh test)")
    flags = ["--quiet", "--rows", str(rows), "--format", "parquet", "--threads", "1"]
    print(f"{rows:,} rows; load {os.getloadavg()[0]:.1f} at the beginning; {os.cpu_count()} processors")
    print(f"{'':24} {'wall s':>8} {'cpu s':>8} {'maker s':>8} {'undist. s':>10} {'server s':>9} {'MB':>5}")
    best: dict[str, dict[str, float]] = {}

    def keep(name: str, figures: dict[str, float], took: float) -> None:
        print(f"{name:24} {figures['wall']:8.2f} {figures['processor']:8.2f} {figures['maker']:8.2f} "
              f"{figures['undisturbed']:10.2f} {took:9.2f} {figures['MB']:5.0f}", flush=True)
        have = best.setdefault(name, dict(figures))
        for key, value in figures.items():
            have[key] = min(have[key], value)

    with tempfile.TemporaryDirectory() as place:
        for number in range(rounds):
            keep("nowhere", run([programs[-1], *flags, "--output", "-"]), 0)
            for which, program in enumerate(programs):
                with Bucket(server, pathlib.Path(place, f"{number}-{which}")) as bucket:
                    before = processor_of(bucket.process.pid)
                    figures = run([program, *flags, *bucket.flags(),
                                   "--output", f"s3://{bucket.NAME}/data"])
                    keep(f"bucket, program {which + 1}", figures,
                         processor_of(bucket.process.pid) - before)
                    bucket.empty()
    for name, figures in best.items():
        if name != "nowhere":
            print(f"{name}: {best['nowhere']['wall'] / figures['wall']:.2f} of the rate to nowhere, "
                  f"{best['nowhere']['undisturbed'] / figures['undisturbed']:.2f} without the time that "
                  "its maker waited for a processor")


if __name__ == "__main__":
    main()
