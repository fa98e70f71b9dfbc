"""Measures the cost of a step under `reveza jobs run`, GNU parallel, HyperQueue, xargs and a shell
loop in the same run, and the startup of jobs of many steps. Called by bench/jobs.sh."""

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
LISTS = (100_000, 1_000_000)


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


def measure_steps(options, folder, environment):
    """Prints the time of a step of each tool in three interleaved rounds."""
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
    print(f"{'':<34}{'us/step':>9}{'over spawning':>15}{'over xargs':>12}")
    for what, seconds in rows.items():
        each = statistics.median(seconds) / STEPS * 1e6
        same = f"xargs -P {2 if '2' in what else 1}"
        beside = statistics.median(rows[same]) / STEPS * 1e6
        print(f"{what:<34}{each:>9.0f}{each - base:>15.0f}{each - beside:>12.0f}")
    with open(os.path.join(options.out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


def run(command, environment):
    """Returns the moment that a command began, its seconds and its peak memory in MiB."""
    began = time.time()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
    return began, time.time() - began, usage.ru_maxrss / 1024


def measure_list(options, folder, environment, steps):
    """Prints the time to the first step of a job of so many, the memory of its runner, and the time
    of the same command when all are done, and of commands that show it."""
    mark = os.path.join(folder, "first")
    job = f"list-{steps}"
    command = [options.reveza, "jobs", "run", "--quiet", "--name", job, "--workers", "1",
               "--halt", "now,fail=1", "--", "sh", "-c", f"date +%s.%N > {mark}; exit 1", "{n}",
               ":::", "n", f"1..{steps}"]
    print(f"\nlist of {steps} steps")
    for what in ("new", "resumed"):
        began, _, memory = run(command, environment)
        with open(mark, encoding="ascii") as file:
            first = float(file.read()) - began
        os.remove(mark)
        print(f"  {what}: first step after {first:.2f} s, peak memory of the runner "
              f"{memory:.0f} MiB", flush=True)
    subprocess.run([options.finished_job, environment["REVEZA_STATE"], job], check=True)
    for what in ("all done", "all done, again"):
        _, seconds, memory = run(command, environment)
        print(f"  {what}: {seconds:.2f} s, {memory:.0f} MiB", flush=True)
    for words in (["list"], ["show", job], ["logs", job, str(steps // 2)],
                  ["logs", job, f"n={steps // 2}"]):
        seconds = [run([options.reveza, "jobs", *words], environment)[1] for _ in range(5)]
        print(f"  jobs {' '.join(words)}: {statistics.median(seconds):.3f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=["steps", "lists"], help="default: both")
    parser.add_argument("--reveza", required=True)
    parser.add_argument("--finished-job", required=True, help="program bench/finished_job")
    parser.add_argument("--out", required=True)
    parser.add_argument("--hyperqueue", help="Python interpreter with the package hyperqueue")
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    environment = {**os.environ, "REVEZA_STATE": os.path.join(folder, "state"),
                   "XDG_RUNTIME_DIR": folder}
    if options.what != "lists":
        measure_steps(options, folder, environment)
    if options.what != "steps":
        for steps in LISTS:
            measure_list(options, folder, environment, steps)
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
