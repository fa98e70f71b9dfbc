"""Measures the cost of a step under `reveza jobs run`, GNU parallel, HyperQueue, xargs and a shell
loop in the same run, and the startup of a job of 100,000 steps. Called by bench/jobs.sh."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

STEPS = 10_000
LONG = 100_000


def timed(command, environment, folder):
    """Returns the seconds of a command."""
    begin = time.monotonic()
    subprocess.run(command, env=environment, cwd=folder, check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def spawn_alone(folder, environment):
    """Returns seconds for STEPS sequential posix_spawn calls with two output files."""
    begin = time.monotonic()
    for i in range(STEPS):
        with open(os.path.join(folder, "o"), "wb") as out:
            with open(os.path.join(folder, "e"), "wb") as err:
                pid = os.posix_spawn("/bin/true", ["true", str(i)], environment, file_actions=[
                    (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
                    (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        os.waitpid(pid, 0)
    return time.monotonic() - begin


def hyperqueue(python, workers):
    """Returns seconds for STEPS with server and worker already running; see jobs_hyperqueue.py."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jobs_hyperqueue.py")
    ran = subprocess.run([python, program, str(STEPS), str(workers)], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return float(ran.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reveza", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--hyperqueue", help="Python interpreter with the package hyperqueue")
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    environment = {**os.environ, "REVEZA_STATE": os.path.join(folder, "state"),
                   "XDG_RUNTIME_DIR": folder}
    runs = [("posix_spawn, one at a time", None)]
    for workers in (1, 2):
        runs.append((f"reveza jobs run --workers {workers}",
                     [options.reveza, "jobs", "run", "--quiet", "--force", "--name", f"w{workers}",
                      "--workers", str(workers), "--", "true", "{n}", ":::", "n", f"1..{STEPS}"]))
    for workers in (1, 2):
        runs.append((f"xargs -P {workers}",
                     ["sh", "-c", f"seq {STEPS} | xargs -P {workers} -n 1 true"]))
    runs.append(("shell loop", ["sh", "-c", f"i=0; while [ $i -lt {STEPS} ]; do /bin/true $i; "
                                            "i=$((i+1)); done"]))
    if shutil.which("parallel"):
        for workers in (1, 2):
            runs.append((f"GNU parallel -j {workers} --joblog",
                         ["sh", "-c", f"seq {STEPS} | parallel -j {workers} --joblog log true"]))
    if options.hyperqueue:
        for workers in (1, 2):
            runs.append((f"HyperQueue, {workers} cores", workers))
    rows = {}
    for round_number in range(3):
        for what, command in runs:
            if ("parallel" in what or "HyperQueue" in what) and round_number > 0:
                continue
            if command is None:
                seconds = spawn_alone(folder, environment)
            elif isinstance(command, int):
                seconds = hyperqueue(options.hyperqueue, command)
            else:
                seconds = timed(command, environment, folder)
            rows.setdefault(what, []).append(seconds)
    print(f"{STEPS} steps of `true`, outputs captured; median of three interleaved rounds")
    base = statistics.median(rows[runs[0][0]]) / STEPS * 1e6
    print(f"{'':<34}{'us/step':>9}{'over spawning':>15}")
    for what, seconds in rows.items():
        each = statistics.median(seconds) / STEPS * 1e6
        print(f"{what:<34}{each:>9.0f}{each - base:>15.0f}")

    # Time from the start of the runner to its first step, and its memory with all steps queued.
    mark = os.path.join(folder, "first")
    command = [options.reveza, "jobs", "run", "--quiet", "--name", "long", "--workers", "1",
               "--halt", "now,fail=1", "--", "sh", "-c", f"date +%s.%N > {mark}; exit 1", "{n}",
               ":::", "n", f"1..{LONG}"]
    for what in (f"\nlist of {LONG} steps", "the same list resumed"):
        begin = time.time()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        with open(mark, encoding="ascii") as file:
            first = float(file.read()) - begin
        os.remove(mark)
        print(f"{what}: first step after {first:.2f} s, "
              f"peak memory of the runner {usage.ru_maxrss / 1024:.0f} MiB")
    with open(os.path.join(options.out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
