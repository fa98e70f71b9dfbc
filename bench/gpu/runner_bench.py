"""Measures the throughput of small kernels on one GPU with 1 to 4 workers: threads, processes,
processes under MPS and Reveza, CUDA graphs and batches; then the choice of the runner's tuner.
Called by bench/gpu_runner.sh."""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time

from harness import Harness, Mps

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = [sys.executable, os.path.join(HERE, "small_kernels.py")]
SECONDS = 4.0
STARTUP_SECONDS = 7.0  # until all programs have started
CYCLES_PER_STEP = 20_000
STEPS = 240


class Machine(Harness):
    def __init__(self, build, work):
        super().__init__(build, work, False, time.time() + 600, 1)
        self.environment |= {"XDG_RUNTIME_DIR": work, "REVEZA_STATE": os.path.join(work, "state"),
                             "CUPY_CACHE_DIR": os.path.join(work, "cupy")}

    def activity(self, begin, seconds):
        """Returns the mean SM activity during `seconds` from `begin`, or None if unknown."""
        time.sleep(max(0.0, begin - time.time()))
        top = subprocess.Popen([self.reveza_program(), "top", "--loop", "--count", str(int(seconds))],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=self.environment)
        seen = []
        for line in top.stdout:
            with contextlib.suppress(ValueError, LookupError, TypeError):
                seen.append(float(json.loads(line)["gpus"][0]["sm_active"]))
        top.wait()
        return statistics.mean(seen[1:]) if len(seen) > 1 else None

    def measure(self, commands, environment=None):
        """Returns the total cycles per second of the commands, SM activity and the latest start."""
        begin = time.time() + STARTUP_SECONDS
        words = ["--begin", str(begin), "--seconds", str(SECONDS)]
        running = [subprocess.Popen(command + words, stdout=subprocess.PIPE, text=True,
                                    env=environment or self.environment) for command in commands]
        active = self.activity(begin, SECONDS)
        results = []
        for process in running:
            out, _ = process.communicate(timeout=120)
            results.append(json.loads(out.strip().splitlines()[-1]))
        late = max(result["late"] for result in results)
        return sum(result["cycles"] / result["seconds"] for result in results), active, late


class Table:
    def __init__(self):
        self.rows = []
        self.first = None
        print(f"{'how':<28} {'workers':>7} {'cycles/s':>12} {'of one':>7} {'SM active':>9}  late")

    def add(self, how, workers, measured):
        rate, active, late = measured
        self.first = self.first or rate
        self.rows.append({"how": how, "workers": workers, "cycles_per_second": rate,
                          "sm_active": active, "late_seconds": late})
        shown = "n/a" if active is None else f"{active * 100:.1f} %"
        print(f"{how:<28} {workers:>7} {rate:>12,.0f} {rate / self.first:>7.2f} {shown:>9}"
              f"  {late:.1f}", flush=True)


def compare(machine):
    table = Table()
    for workers in (1, 2, 3, 4):
        table.add("threads of one process", workers,
                  machine.measure([PROGRAM + ["--threads", str(workers)]]))
    for workers in (2, 3, 4):
        table.add("processes", workers, machine.measure([PROGRAM] * workers))
    with contextlib.suppress(RuntimeError), Mps(machine) as mps:
        for workers in (1, 2, 3, 4):
            table.add("processes under MPS", workers,
                      machine.measure([PROGRAM] * workers, mps.environment))
    wrapped = [machine.reveza_program(), "run", "--quiet", "--", *PROGRAM]
    for workers in (1, 2, 3, 4):
        table.add("processes under Reveza", workers, machine.measure([wrapped] * workers))
    for workers in (1, 2, 4):
        table.add("graph of 50, processes", workers,
                  machine.measure([PROGRAM + ["--graph", "50"]] * workers))
    for batch in (16, 256, 1024):
        table.add(f"batch of {batch}, graph of 50", 1,
                  machine.measure([PROGRAM + ["--batch", str(batch), "--graph", "50"]]))
    return table.rows


def tune(machine, how):
    print(f"\n$ reveza jobs run --name {how} --max-workers 6 -- small_kernels.py --cycles {{cycles}} "
          f"::: cycles {CYCLES_PER_STEP} ({STEPS} times)", flush=True)
    command = [machine.reveza_program(), "jobs", "run", "--name", how, "--max-workers", "6", "--", *PROGRAM,
               "--cycles", "{cycles}", ":::", "cycles", *[str(CYCLES_PER_STEP)] * STEPS]
    subprocess.run(command, env=machine.environment, check=False, stderr=sys.stdout.fileno(),
                   timeout=300)
    print(f"\n$ reveza jobs tune {how}", flush=True)
    subprocess.run([machine.reveza_program(), "jobs", "tune", how], env=machine.environment, check=False,
                   stderr=sys.stdout.fileno(), timeout=60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    machine = Machine(options.build, options.work)
    os.makedirs(options.out, exist_ok=True)
    rows = compare(machine)
    tune(machine, "processes")
    with open(os.path.join(options.out, "gpu_runner.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    print("\n$ reveza doctor -v", flush=True)
    subprocess.run([machine.reveza_program(), "doctor", "-v"], env=machine.environment, check=False,
                   timeout=120, stderr=sys.stdout.fileno())


if __name__ == "__main__":
    main()
