"""Measures four `phi run` on one GPU, time-sliced by the driver, under MPS and under Reveza, with
and without oversubscription, and a run that is killed ten times. Called by bench/gpu_phi.sh."""

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

from harness import Harness, Job, Mps, Reveza

WORKERS = 4


@dataclasses.dataclass
class Result:
    rate: float  # run-cycles per second of its own run time
    hashes: tuple


class Bench:
    def __init__(self, build, work):
        self.phi = os.path.join(build, "bin", "phi")
        self.harness = Harness(build, work, False, time.time() + 600, 1)
        self.failed = False

    def command(self, cycles, runs, first_run=0, *more):
        return [self.phi, "run", "--device", "gpu", "--measure", "none", "--json", "--cycles",
                str(cycles), "--runs", str(runs), "--first-run", str(first_run), *more]

    def together(self, commands, environment=None):
        """Runs the commands concurrently and returns their results."""
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, env=environment or self.harness.environment)
                   for command in commands]
        made = []
        for process in running:
            out, error_output = process.communicate(timeout=300)
            if process.returncode != 0:
                raise RuntimeError(f"phi exited with {process.returncode}: {error_output[-800:]}")
            summary = json.loads(out)
            made.append(Result(summary["cycles"] * summary["runs"] / summary["total_seconds"],
                            tuple(summary["hashes"])))
        return made

    def four(self, cycles, runs):
        """Returns the commands of WORKERS programs with different runs, and each one's result alone."""
        commands = [self.command(cycles, runs, number * runs) for number in range(WORKERS)]
        return commands, [self.together([command])[0] for command in commands]

    def under_reveza(self, reveza, commands):
        jobs = [reveza.wrap(Job(f"phi-{i}", command)).argv for i, command in enumerate(commands)]
        return self.together(jobs, reveza.environment)

    def report(self, how, workers, made, one):
        rate = sum(each.rate for each in made)
        print(f"{how:<44} {workers:>7} {rate:>14,.0f} {rate / one:>7.2f}", flush=True)

    def check(self, what, right):
        print(f"{what:<60} {'ok' if right else 'FAILED'}", flush=True)
        self.failed |= not right

    def compare(self, runs, cycles, title):
        print(f"\n{title}: {runs} runs of {cycles} cycles each")
        print(f"{'how':<44} {'workers':>7} {'run-cycles/s':>14} {'of one':>7}")
        commands, alone = self.four(cycles, runs)
        one = alone[0].rate
        self.report("one", 1, alone[:1], one)
        wanted = [each.hashes for each in alone]
        same = []

        def measure(how, made):
            self.report(how, WORKERS, made, one)
            same.append([each.hashes for each in made] == wanted)

        measure("processes, time-sliced by the driver", self.together(commands))
        with Mps(self.harness) as mps:
            measure("processes under MPS", self.together(commands, mps.environment))
        with Reveza(self.harness, None) as reveza:
            measure("processes under Reveza", self.under_reveza(reveza, commands))
        self.check("the same states in all modes", all(same))

    def oversubscribe(self, runs, cycles, budget):
        """Runs programs that exceed the budget together, so that they are swapped."""
        print(f"\nfour programs of {runs} runs, {cycles} cycles, on a GPU of {budget}")
        started = time.time()
        commands, alone = self.four(cycles, runs)
        serial = time.time() - started
        with Reveza(self.harness, budget) as reveza:
            started = time.time()
            made = self.under_reveza(reveza, commands)
            took = time.time() - started
            handovers = reveza.handover().get("count", 0)
        print(f"serial {serial:.1f} s, concurrent {took:.1f} s ({took / serial:.2f}), "
              f"{handovers} handovers")
        self.check("the same states", [each.hashes for each in made] ==
                   [each.hashes for each in alone])
        self.check("programs were swapped", handovers > 0)

    def killed(self, runs, cycles, grown):
        """Kills a run ten times, each after `grown` new bytes of rows, and compares it with the CPU."""
        folder = os.path.join(self.harness.work, "killed")
        rows = os.path.join(folder, "rows.csv")
        command = self.command(cycles, runs, 0, "-o", folder, "-q", "--checkpoint-every", "20")
        command.remove("--json")
        kills = 0
        for _ in range(40):
            had = os.path.getsize(rows) if os.path.exists(rows) else 0
            process = subprocess.Popen(command, env=self.harness.environment,
                                       stdout=subprocess.DEVNULL)
            until = time.time() + 60
            while process.poll() is None and time.time() < until:
                if (kills < 10 and os.path.exists(rows)
                        and os.path.getsize(rows) > had + grown):
                    process.send_signal(signal.SIGKILL)
                    kills += 1
                    break
                time.sleep(0.001)
            if process.wait() == 0:
                break
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        on_cpu = [self.phi, "run", "--measure", "none", "--json", "--cycles", str(cycles),
                  "--runs", str(runs)]
        wanted = self.together([on_cpu])[0].hashes
        self.check(f"killed {kills} times on the GPU, the same states as on the CPU",
                   kills == 10 and tuple(summary["hashes"]) == wanted)


PARTS = {
    "small": lambda bench: bench.compare(256, 20_000, "small batches"),
    "large": lambda bench: bench.compare(4096, 4_000, "large batches"),
    "swapped": lambda bench: bench.oversubscribe(50_000, 400, "8GiB"),
    "killed": lambda bench: bench.killed(64, 4_000, 2 << 20),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("parts", nargs="*", metavar="PART", default=list(PARTS),
                        help=f"one of {', '.join(PARTS)}; all by default")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    bench = Bench(arguments.build, arguments.work)
    for part in arguments.parts:
        PARTS[part](bench)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
