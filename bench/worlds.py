#!/usr/bin/env python3
"""Compares the scheduler with an earlier one over random worlds of the simulator.

    bench/worlds.py [--before COMMIT] [--worlds N] [--repeats N] [--flavours plain,growing,...]

Builds bench/worlds.cc twice: with this tree, and with the scheduler and the simulator of COMMIT, by
default the last one without weights, priorities, interactive jobs and announced ends. Both play the
same worlds, without the features that the earlier one lacks, except `weights`: long worlds of busy
jobs that do not fit together, whose weights the earlier one ignores; fairness is then that of GPU
time by weight. Prints how makespan and fairness changed, and each world that became worse by more
than 5 %; and, as the measure of chance, the same of the earlier one against itself with other random
numbers.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
# Worlds that both know; numbers as in scenario.h.
FLAVOURS = {"plain": 0, "growing": 1, "fitting": 3, "scarce": 4, "ranks": 5, "weights": 100}
PARTS = ["world", "client", "agent", "checker", "scenario", "collectives"]


def build(tree, folder):
    """Returns the program of a tree."""
    scheduler = tree / "reveza/gpu/scheduler"
    sources = [s for s in scheduler.glob("*.cc") if not s.stem.endswith("_test")]
    sources = [s for s in sources if s.stem != "policy_text"]
    sources += [tree / f"reveza/gpu/simulator/{part}.cc" for part in PARTS]
    program = folder / "worlds"
    options = ["-std=c++23", "-O2", "-DNDEBUG", f"-I{tree}"]
    objects = []
    for source in [*sources, TREE / "bench/worlds.cc"]:
        objects.append(folder / f"{source.stem}.o")
        subprocess.run(["c++", *options, "-c", source, "-o", objects[-1]], check=True)
    subprocess.run(["c++", *objects, "-o", program], check=True)
    return program


def play(program, flavour, options, first):
    """Returns what a program printed, as (makespan, fairness) by seed."""
    numbers = [FLAVOURS[flavour], options.worlds, options.repeats, first]
    output = subprocess.check_output([program, *map(str, numbers)], text=True)
    worlds = {}
    for line in output.splitlines():
        seed, makespan, fairness, finished = line.split()
        if finished != "1":
            sys.exit(f"world {seed} of {flavour} did not end, or broke an invariant")
        worlds[int(seed)] = (float(makespan), float(fairness))
    return worlds


def compare(title, before, now):
    """Prints how the worlds changed."""
    spans = {seed: now[seed][0] / before[seed][0] - 1 for seed in before}
    fairness = {seed: now[seed][1] / before[seed][1] - 1 for seed in before}
    print(
        f"{title}: {len(before)} worlds, makespan {statistics.mean(spans.values()):+.2%} in the "
        f"mean ({min(spans.values()):+.1%} to {max(spans.values()):+.1%}), fairness "
        f"{statistics.mean(v[1] for v in before.values()):.4f} before, "
        f"{statistics.mean(v[1] for v in now.values()):.4f} now "
        f"({min(fairness.values()):+.1%} to {max(fairness.values()):+.1%})"
    )
    worse = [s for s in before if spans[s] > 0.05 or fairness[s] < -0.05]
    print(f"  worse by more than 5 %: {len(worse)}")
    for seed in worse:
        print(
            f"  world {seed}: makespan {before[seed][0]:.3f} s to {now[seed][0]:.3f} s, "
            f"fairness {before[seed][1]:.3f} to {now[seed][1]:.3f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", default="972829d")
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--flavours", default="plain,growing,ranks,scarce")
    options = parser.parse_args()
    unknown = set(options.flavours.split(",")) - set(FLAVOURS)
    if unknown:
        parser.error(f"no flavour {', '.join(sorted(unknown))}; there are {', '.join(FLAVOURS)}")
    describe = ["git", "-C", TREE, "describe", "--always", "--dirty", "--exclude", "*"]
    print("command:", " ".join(["bench/worlds.py", *sys.argv[1:]]))
    print("now:", subprocess.check_output(describe, text=True).strip(), " before:", options.before)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        archive = ["git", "-C", TREE, "archive", options.before, "reveza/gpu", "common"]
        (folder / "tree").mkdir()
        packed = subprocess.run(archive, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", folder / "tree"], input=packed, check=True)
        programs = []
        for name, tree in (("before", folder / "tree"), ("now", TREE)):
            (folder / name).mkdir()
            programs.append(build(tree, folder / name))
        for flavour in options.flavours.split(","):
            before, now = (play(program, flavour, options, 0) for program in programs)
            compare(flavour, before, now)
            other = play(programs[0], flavour, options, options.repeats)
            compare(f"{flavour}, before against itself", before, other)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
