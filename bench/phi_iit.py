#!/usr/bin/env python3
"""Compares `phi iit` with PyPhi 1.2.0 on the same networks.

  build/python/bin/python3 bench/phi_iit.py [--build build] [--python build/python/bin/python3]
                                            [--most-nodes 5] [--dense-nodes 4] [--alone N]

In rings of 3 or more nodes, each node is the OR, COPY or XOR of its two neighbours with probability
0.9; in dense networks, all probabilities are random. All run on one core, and times are those of the
processor. PyPhi has empty caches. The startup of Python is not counted, neither for PyPhi nor for
`phi.iit`, which ratios are of; that of `phi iit` is, which runs as a new process.
PyPhi is timed with the connectivity of the ring and without, when it takes all nodes as connected;
`phi iit` finds connections itself. PyPhi takes minutes for five dense nodes. --alone N continues with
the connectivity only, up to N nodes.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
ORACLE = ROOT / "tests/phi/pyphi_oracle.py"


def ring(nodes: int) -> dict:
    rules = [lambda a, b: a | b, lambda a, b: b, lambda a, b: a ^ b]
    tpm = []
    for state in range(2 ** nodes):
        bits = [state >> node & 1 for node in range(nodes)]
        tpm.append([0.9 if rules[node % 3](bits[node - 1], bits[(node + 1) % nodes]) else 0.1
                    for node in range(nodes)])
    connectivity = [[0] * nodes for _ in range(nodes)]
    for node in range(nodes):
        connectivity[(node + 1) % nodes][node] = 1
        if node % 3 != 1:
            connectivity[node - 1][node] = 1
    return {"tpm": tpm, "state": [1] + [0] * (nodes - 1), "connectivity": connectivity}


def dense(nodes: int) -> dict:
    draw = random.Random(nodes)
    return {"tpm": [[draw.random() for _ in range(nodes)] for _ in range(2 ** nodes)],
            "state": [1] + [0] * (nodes - 1)}


def run_phi(phi: str, folder: str, network: dict) -> tuple[float, float]:
    path = pathlib.Path(folder) / "network.json"
    path.write_text(json.dumps({key: network[key] for key in ("tpm", "state")}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([phi, "iit", str(path), "--json", "--threads", "1"], capture_output=True,
                          text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            json.loads(done.stdout)["phi"])


def run_package(network: dict) -> float:
    """Returns the processor time of phi.iit."""
    import phi  # pylint: disable=import-outside-toplevel  # of the build that is measured
    matrix = numpy.array(network["tpm"], dtype=float)
    begin = time.process_time()
    phi.iit(matrix, network["state"], threads=1)
    return time.process_time() - begin


def run_pyphi(python: str, folder: str, network: dict) -> tuple[float, float]:
    done = subprocess.run([python, "-B", str(ORACLE)], input=json.dumps(network) + "\n", cwd=folder,
                          capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    return answer["seconds"], answer["phi"]


def row(phi: str, python: str, folder: str, name: str, network: dict, unconnected: bool) -> bool:
    """Times one network; without its connectivity too if `unconnected`. False if values differ."""
    nodes = len(network["state"])
    seconds, value = min(run_phi(phi, folder, network) for _ in range(3))
    called = min(run_package(network) for _ in range(5))
    cells = []
    questions = [network] if "connectivity" in network else [None]
    questions.append({key: network[key] for key in ("tpm", "state")} if unconnected else None)
    for question in questions:
        if question is None:
            cells.append(f"{'-':>10} {'':>8}")
            continue
        other_seconds, other = run_pyphi(python, folder, question)
        if abs(value - other) > 5e-6:
            print(f"{name}, {nodes} nodes: phi iit computes {value}, PyPhi {other}", file=sys.stderr)
            return False
        cells.append(f"{other_seconds:>8.2f} s {other_seconds / called:>6.0f} x")
    print(f"{name:<6} {nodes:>5} {value:>10} {seconds:>8.3f} s {called:>8.4f} s  {'  '.join(cells)}".rstrip(), flush=True)
    return True


def has_pyphi(python: str) -> bool:
    script = "from importlib.metadata import version; print(version('pyphi'))"
    try:
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.strip() == "1.2.0"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--python", default=str(ROOT / "build/python/bin/python3"))
    parser.add_argument("--most-nodes", type=int, default=5)
    parser.add_argument("--dense-nodes", type=int, default=4)
    parser.add_argument("--alone", type=int, default=0)
    given = parser.parse_args(arguments)
    phi, python = os.path.abspath(os.path.join(given.build, "bin/phi")), os.path.abspath(given.python)
    sys.path.insert(0, os.path.abspath(os.path.join(given.build, "lib/python")))
    if not has_pyphi(python):
        print(f"{python} has no PyPhi 1.2.0: run tools/setup.sh test, or set another interpreter with "
              "--python", file=sys.stderr)
        return 1
    print(f"{'':<6} {'nodes':>5} {'Phi':>10} {'phi iit':>10} {'phi.iit':>10}  {'PyPhi, connectivity':>19}  {'without':>19}")
    with tempfile.TemporaryDirectory(prefix="phi-iit-") as folder:
        for nodes in range(3, max(given.most_nodes, given.alone) + 1):
            if not row(phi, python, folder, "ring", ring(nodes), nodes <= given.most_nodes):
                return 1
        for nodes in range(3, given.dense_nodes + 1):
            if not row(phi, python, folder, "dense", dense(nodes), True):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
