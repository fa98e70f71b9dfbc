#!/usr/bin/env python3
"""Compares `phi iit` with PyPhi 1.2.0 on random networks.

  pyphi_test.py PHI PYTHON [--networks 12] [--most-nodes 3] [--seed 1] [--time]

PYTHON is an interpreter with PyPhi (tools/setup.sh test). Exits with 77 (skipped) without it.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

SKIPPED = 77


def network(draw: random.Random, nodes: int) -> dict:
    """A random network: deterministic, noisy, or noisy gates with a few inputs."""
    states = 2 ** nodes
    kind = draw.choice(["deterministic", "noisy", "gates"])
    if kind == "deterministic":
        tpm = [[draw.randint(0, 1) for _ in range(nodes)] for _ in range(states)]
    elif kind == "noisy":
        # Not rounded: means of short decimals end in a 5, which the programs may round differently.
        tpm = [[draw.random() for _ in range(nodes)] for _ in range(states)]
    else:
        noise = draw.choice([0, 0.1, 0.25])
        gates = []
        for _ in range(nodes):
            inputs = draw.sample(range(nodes), min(nodes, draw.randint(1, 3)))
            gates.append((inputs, draw.choice([any, all, lambda bits: sum(bits) % 2 == 1])))
        tpm = []
        for state in range(states):
            bits = [state >> node & 1 for node in range(nodes)]
            on = [gate([bits[i] for i in inputs]) for inputs, gate in gates]
            tpm.append([1 - noise if is_on else noise for is_on in on])
    return {"kind": kind, "tpm": tpm, "state": [draw.randint(0, 1) for _ in range(nodes)]}


def ours(phi: str, folder: pathlib.Path, question: dict) -> tuple[dict | None, float]:
    path = folder / "network.json"
    path.write_text(json.dumps({"tpm": question["tpm"], "state": question["state"]}))
    begin = time.perf_counter()
    done = subprocess.run([phi, "iit", str(path), "--json", "--threads", "1"], capture_output=True,
                          text=True, timeout=400, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode == 2 and "cannot be reached" in done.stderr:
        return None, seconds
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), seconds


def concepts_of(found: dict) -> dict:
    """Concepts by mechanism: phi and both purviews."""
    number = lambda names: tuple(ord(name) - ord("A") for name in names)
    return {number(c["mechanism"]): (c["phi"], number(c["cause"]["purview"]),
                                     number(c["effect"]["purview"])) for c in found["concepts"]}


def differences(found: dict, theirs: dict) -> list[str]:
    differ = []
    if abs(found["phi"] - theirs["phi"]) > 5e-6:
        differ.append(f"Phi {found['phi']} and PyPhi's {theirs['phi']}")
    own = concepts_of(found)
    other = {tuple(c[0]): (c[1], tuple(c[2]), tuple(c[3])) for c in theirs["concepts"]}
    if own.keys() != other.keys():
        differ.append(f"mechanisms {sorted(own)} and PyPhi's {sorted(other)}")
    for mechanism in own.keys() & other.keys():
        if abs(own[mechanism][0] - other[mechanism][0]) > 5e-6:
            differ.append(f"{mechanism}: {own[mechanism]} and PyPhi's {other[mechanism]}")
        elif own[mechanism][1:] != other[mechanism][1:]:
            differ.append(f"{mechanism}: purviews {own[mechanism]} and PyPhi's {other[mechanism]}")
    return differ


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("phi")
    parser.add_argument("python")
    parser.add_argument("--networks", type=int, default=12)
    parser.add_argument("--least-nodes", type=int, default=2)
    parser.add_argument("--most-nodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time", action="store_true", help="print the time of each network")
    given = parser.parse_args(arguments)
    phi = str(pathlib.Path(given.phi).resolve())
    given.python = os.path.abspath(given.python)  # unresolved: a symlink out of its environment
    probe = subprocess.run([given.python, "-c", "import importlib.util as u, sys; "
                            "sys.exit(u.find_spec('pyphi') is None)"], check=False) \
        if pathlib.Path(given.python).exists() else None
    if probe is None or probe.returncode != 0:
        print("skipped: PyPhi is not installed (tools/setup.sh test installs it)")
        return SKIPPED
    draw = random.Random(given.seed)
    questions = [network(draw, draw.randint(given.least_nodes, given.most_nodes))
                 for _ in range(given.networks)]
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="pyphi-") as name:
        folder = pathlib.Path(name)
        oracle = subprocess.Popen(
            [given.python, "-B", str(pathlib.Path(__file__).with_name("pyphi_oracle.py").resolve())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)
        compared = 0
        for number, question in enumerate(questions):
            oracle.stdin.write(json.dumps(question) + "\n")
            oracle.stdin.flush()
            theirs = json.loads(oracle.stdout.readline())
            found, seconds = ours(phi, folder, question)
            if "unreachable" in theirs or found is None:
                if ("unreachable" in theirs) != (found is None):
                    differ = [f"reachable for one only: {theirs}"]
                else:
                    continue
            else:
                compared += 1
                differ = differences(found, theirs)
                if given.time:
                    print(f"{len(question['state'])} nodes, {question['kind']}: Phi {found['phi']}, "
                          f"{seconds:.3f} s, PyPhi {theirs['seconds']:.2f} s")
            if differ:
                wrong += 1
                print(f"network {number}, {json.dumps(question)}:", *differ, sep="\n  ")
        oracle.stdin.close()
        oracle.wait()
    if compared == 0:
        print("no network could be compared")
        return 1
    print(f"{compared} networks, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
