#!/usr/bin/env python3
"""Measures how hard the frauds of the coherent model are to find, by `fraudgen bench`.

  bench/fraud_difficulty.py BUILD [--rides] [--rows N] [--seeds 1,2,...] [--difficulties 150,500,850] [--check]
                            [--memory SIZE] [--sample N] [--threads N]

Generates data with BUILD/bin/fraudgen and measures them. Prints, for each seed and difficulty (in thousandths), the
area under the ROC curve (AUC) and the average precision of boosted trees with the columns and with the graph, split by
time and by ring, the AUC with the labels that were reported by then, the best single columns, and the number of pure
rules; then the largest memory of the processes of `bench`, and their processor time. --check exits with 1 unless, at
difficulty 500, the AUC of every column is below 0.82, the AUC of the trees falls as difficulty rises, and there is no
pure rule at any.

Needs the wheels of tools/requirements-demo.txt and requirements-ml.txt in the Python that runs this.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MAX_SINGLE_AUC = 0.82  # of the past share of frauds of a receiver: mules are paid again


def generate(arguments: argparse.Namespace, folder: str, seed: int, difficulty: int) -> None:
    kind = "rides" if arguments.rides else "transactions"
    subprocess.run([arguments.build / "bin/fraudgen", "--quiet", "--type", kind, "--rows", str(arguments.rows),
                    "--seed", str(seed), "--difficulty", f"{difficulty / 1000}", "--format", "parquet",
                    "--output", folder], check=True)


def measure(arguments: argparse.Namespace, folder: str) -> tuple[dict, float, float]:
    """Returns the result, the largest memory in megabytes, and processor seconds."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [arguments.build / "bin/fraudgen", "bench", folder, "--json", "--quiet", "--output", f"{folder}/bench.html",
             "--memory", arguments.memory, "--sample", str(arguments.sample), "--threads", str(arguments.threads)],
            stdout=output, env={**os.environ, "FRAUDGEN_PYTHON": sys.executable}, cwd=folder)
        status, usage = os.wait4(process.pid, 0)[1:]
        if status != 0:
            raise SystemExit(f"fraudgen bench: exit status {os.waitstatus_to_exitcode(status)}")
        output.seek(0)
        return json.load(output)[0], usage.ru_maxrss / 1000, usage.ru_utime + usage.ru_stime


def of_data(found: dict) -> list[dict]:
    """The single columns of the data, the best first, without features of the graph."""
    return [each for each in found["leaks"]["singles"] if not each["graph"]]


def line(found: dict) -> tuple[str, float]:
    scores = {(each["split"], each["features"]): each for each in found["utility"]["scores"]}

    def show(split: str, features: str, key: str) -> str:
        score = scores.get((split, features))
        return f"{score[key]:.3f}" if score else "    -"

    words = [show(split, features, key) for split in ("time", "ring") for features in ("columns", "columns and graph")
             for key in ("auc", "precision")]
    words.append(show("time", "columns, labels reported by then", "auc"))
    singles = ", ".join(f"{each['column']} {each['auc']:.3f}" for each in of_data(found)[:3])
    pure = sum(each["kind"] == "pure" for each in found["leaks"]["rules"])
    return f"{'  '.join(words)}  {pure:4}  {singles}", scores["time", "columns"]["auc"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--rides", action="store_true")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--difficulties", default="150,500,850")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--sample", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    violations = []
    load = os.getloadavg()[0]
    print(f"{arguments.rows} rows, memory {arguments.memory}, sample {arguments.sample}, {arguments.threads} threads, "
          f"load {load:.1f}\n"
          "seed difficulty  time: columns   with graph      ring: columns   with graph   reported  pure  best columns\n"
          "                  AUC     AP      AUC     AP      AUC     AP      AUC     AP      AUC", flush=True)
    for seed in map(int, arguments.seeds.split(",")):
        before = 1.0
        for difficulty in sorted(map(int, arguments.difficulties.split(","))):
            with tempfile.TemporaryDirectory() as folder:
                generate(arguments, folder, seed, difficulty)
                found, memory, seconds = measure(arguments, folder)
            text, area = line(found)
            print(f"{seed:4} {difficulty:10}  {text}  [{memory:.0f} MB, {seconds:.0f} s]", flush=True)
            best = of_data(found)[0]
            if difficulty == 500 and best["auc"] >= MAX_SINGLE_AUC:
                violations.append(f"seed {seed}: {best['column']} alone has {best['auc']:.3f}, not below "
                                  f"{MAX_SINGLE_AUC}")
            if area >= before:
                violations.append(f"seed {seed}: difficulty {difficulty} is not harder than the one before")
            violations += [f"seed {seed}, difficulty {difficulty}: {each['rule']}" for each in found["leaks"]["rules"]
                           if each["kind"] == "pure"]
            before = area
    print("\n".join(violations))
    return 1 if arguments.check and violations else 0


if __name__ == "__main__":
    sys.exit(main())
