#!/usr/bin/env python3
"""Compares `phi iit --theory 4.0` with PyPhi 2 on the same networks: phi_s, distinctions, relations.

  bench/phi_iit4.py [--phi build/bin/phi] [--python build/pyphi2/bin/python] [--most-nodes 6]
                    [--dense-nodes 4] [--alone 0]

The networks are those of bench/phi_iit.py. Times are those of the processor, so that other programs
matter little. PyPhi runs on one core with empty caches, knows the connectivity, and its startup is
not counted; `phi iit` runs on one core as a new process, and its startup is counted. --alone N continues up to N nodes without PyPhi. For the set-up of PyPhi 2 see
phi/discrete/pyphi_values.py.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from phi_iit import dense, ring

ROOT = pathlib.Path(__file__).resolve().parents[1]
ORACLE = ROOT / "phi/discrete/pyphi_values.py"


def processor_seconds() -> float:
    """Returns the processor time of ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_phi(phi: str, folder: str, network: dict) -> tuple[float, dict]:
    path = pathlib.Path(folder) / "network.json"
    path.write_text(json.dumps({key: network[key] for key in ("tpm", "state")}))
    begin = processor_seconds()
    done = subprocess.run([phi, "iit", str(path), "--theory", "4.0", "--json", "--threads", "1"],
                          capture_output=True, text=True, check=True)
    return processor_seconds() - begin, json.loads(done.stdout)


def run_pyphi(python: str, folder: str, network: dict) -> dict:
    done = subprocess.run([python, "-B", str(ORACLE), "--answer"], input=json.dumps(network) + "\n",
                          cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def differences(ours: dict, theirs: dict) -> list[str]:
    """Returns what differs by more than rounding."""
    structure = ours["structure"]
    pairs = [("phi_s", ours["phi_s"], theirs["phi_s"]),
             ("big_phi", structure["big_phi"], theirs["big_phi"]),
             ("distinctions", len(structure["distinctions"]), len(theirs["distinctions"])),
             ("relations", structure["relations"]["count"], theirs["relations"]),
             ("faces", structure["relations"]["faces"], theirs["faces"])]
    return [f"{name}: phi iit {own}, PyPhi {other}" for name, own, other in pairs
            if abs(own - other) > 1e-9 * max(1, abs(other))]


def row(phi: str, python: str, folder: str, name: str, network: dict, alone: bool) -> bool:
    """Times one network. False if values differ."""
    nodes = len(network["state"])
    network.setdefault("connectivity", [[1] * nodes for _ in range(nodes)])
    runs = [run_phi(phi, folder, network) for _ in range(3 if nodes < 8 else 1)]
    seconds, ours = min(runs, key=lambda run: run[0])
    structure = ours["structure"]
    cells = f"{'-':>10}"
    if not alone:
        theirs = run_pyphi(python, folder, network)
        if found := differences(ours, theirs):
            print(f"{name}, {nodes} nodes: {'; '.join(found)}", file=sys.stderr)
            return False
        cells = (f"{theirs['seconds_phi_s']:>10.2f} s {theirs['seconds']:>10.2f} s "
                 f"{theirs['seconds'] / seconds:>8.0f} x")
    print(f"{name:<6} {nodes:>5} {ours['phi_s']:>10.6f} {structure['big_phi']:>14.6g} "
          f"{len(structure['distinctions']):>5} {structure['relations']['count']:>12.6g} "
          f"{seconds:>8.3f} s {cells}", flush=True)
    return True


def version_of(python: str) -> str:
    script = "from importlib.metadata import version; print(version('pyphi'))"
    try:
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--phi", default=str(ROOT / "build/bin/phi"))
    parser.add_argument("--python", default=str(ROOT / "build/pyphi2/bin/python"))
    parser.add_argument("--most-nodes", type=int, default=6)
    parser.add_argument("--dense-nodes", type=int, default=4)
    parser.add_argument("--alone", type=int, default=0)
    given = parser.parse_args(arguments)
    phi, python = os.path.abspath(given.phi), os.path.abspath(given.python)
    version = version_of(python)
    if not version.startswith("2."):
        print(f"{python} has no PyPhi 2: set an interpreter with --python "
              "(set-up: phi/discrete/pyphi_values.py)", file=sys.stderr)
        return 1
    print(f"PyPhi {version}, preset iit4_2023, connectivity known\n"
          f"{'':<6} {'nodes':>5} {'phi_s':>10} {'Phi':>14} {'dist.':>5} {'relations':>12} "
          f"{'phi iit':>10} {'PyPhi phi_s':>12} {'with Phi':>12}")
    with tempfile.TemporaryDirectory(prefix="phi-iit4-") as folder:
        for name, make, most in (("ring", ring, given.most_nodes), ("dense", dense, given.dense_nodes)):
            for nodes in range(3, max(most, given.alone) + 1):
                if not row(phi, python, folder, name, make(nodes), nodes > most):
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
