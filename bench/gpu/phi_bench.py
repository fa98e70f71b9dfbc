"""Four `phi run` on one GPU, taking turns in slices, under MPS and under Reveza, on a card that
holds them and on one that does not; and a run that is killed ten times. bench/gpu_phi.sh starts it."""

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
class Ran:
    rate: float  # run-cycles a second, of its own time
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
        """All at once; what each made."""
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, env=environment or self.harness.environment)
                   for command in commands]
        made = []
        for process in running:
            out, complaint = process.communicate(timeout=300)
            if process.returncode != 0:
                raise RuntimeError(f"phi ended with {process.returncode}: {complaint[-800:]}")
            summary = json.loads(out)
            made.append(Ran(summary["cycles"] * summary["runs"] / summary["total_seconds"],
                            tuple(summary["hashes"])))
        return made

    def say(self, how, workers, made, one):
        rate = sum(each.rate for each in made)
        print(f"{how:<44} {workers:>7} {rate:>14,.0f} {rate / one:>7.2f}", flush=True)

    def check(self, what, right):
        print(f"{what:<60} {'right' if right else 'WRONG'}", flush=True)
        self.failed |= not right

    def side_by_side(self, runs, cycles, title):
        print(f"\n{title}: {runs} runs of {cycles} cycles each")
        print(f"{'how':<44} {'workers':>7} {'run-cycles/s':>14} {'of one':>7}")
        alone = [self.together([self.command(cycles, runs, number * runs)])[0]
                 for number in range(WORKERS)]
        one = alone[0].rate
        self.say("one", 1, alone[:1], one)
        wanted = [each.hashes for each in alone]
        commands = [self.command(cycles, runs, number * runs) for number in range(WORKERS)]
        same = []

        def measure(how, made):
            self.say(how, WORKERS, made, one)
            same.append([each.hashes for each in made] == wanted)

        measure("processes, the driver's slices", self.together(commands))
        with Mps(self.harness) as mps:
            measure("processes under MPS", self.together(commands, mps.environment))
        with Reveza(self.harness, None) as reveza:
            jobs = [reveza.wrap(Job(f"phi-{i}", command)).argv
                    for i, command in enumerate(commands)]
            measure("processes under Reveza", self.together(jobs, reveza.environment))
        self.check("the same states in each way", all(same))
        return one, wanted, commands

    def on_a_small_card(self, runs, cycles, budget):
        """Together they have more memory than the budget: they take turns, moved out and back."""
        print(f"\nfour of {runs} runs, {cycles} cycles, on a card of {budget}")
        started = time.time()
        alone = [self.together([self.command(cycles, runs, number * runs)])[0]
                 for number in range(WORKERS)]
        serial = time.time() - started
        commands = [self.command(cycles, runs, number * runs) for number in range(WORKERS)]
        with Reveza(self.harness, budget) as reveza:
            jobs = [reveza.wrap(Job(f"phi-{i}", command)).argv
                    for i, command in enumerate(commands)]
            started = time.time()
            made = self.together(jobs, reveza.environment)
            took = time.time() - started
            handovers = reveza.handover().get("count", 0)
        print(f"one after the other {serial:.1f} s, together {took:.1f} s ({took / serial:.2f}), "
              f"{handovers} handovers")
        self.check("the same states", [each.hashes for each in made] ==
                   [each.hashes for each in alone])
        self.check("somebody was moved out", handovers > 0)

    def killed(self, runs, cycles, grown):
        """kill -9 ten times, each when so many bytes of rows are new; against the processor."""
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
        self.check(f"killed {kills} times on the GPU, the states of the processor",
                   kills == 10 and tuple(summary["hashes"]) == wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only-killed", action="store_true")
    arguments = parser.parse_args()
    bench = Bench(arguments.build, arguments.work)
    if not arguments.only_killed:
        bench.side_by_side(256, 20_000, "small batches")
        bench.side_by_side(4096, 4_000, "large batches")
        bench.on_a_small_card(50_000, 400, "8GiB")
        print()
    bench.killed(64, 4_000, 2 << 20)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
