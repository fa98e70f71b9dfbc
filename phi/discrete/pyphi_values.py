#!/usr/bin/env python3
"""Prints testing_pyphi.h: what PyPhi 2 says of networks under IIT 4.0.

  build/pyphi2/bin/python phi/discrete/pyphi_values.py > phi/discrete/testing_pyphi.h

Needs PyPhi 2 in an environment of its own, with Python 3.13 or later (Debian 13, for instance):

  python3.13 -m venv build/pyphi2
  build/pyphi2/bin/pip install -r tools/requirements-pyphi2.txt

The networks are those of testing_networks.h. With --answer, instead answers one question a line on
standard input, a JSON object with "tpm" (state by node), "state" and, if known, "connectivity"
(rows: from, columns: to), for bench/phi_iit4.py; times are of the processor.
"""

import json
import os
import sys
import time
import warnings

os.environ["PYPHI_WELCOME_OFF"] = "1"
warnings.filterwarnings("ignore")

import numpy  # noqa: E402
import pyphi  # noqa: E402

pyphi.config.progress_bars = False
pyphi.config.parallel = False


class Numbers:
    """TestingNumbers of testing_networks.h."""

    def __init__(self, seed):
        self.state = (seed * 2 + 1) % 2 ** 64

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (self.state >> 11) / 2 ** 53


def noisy(nodes, seed):
    numbers = Numbers(seed)
    return [[numbers.next() for _ in range(nodes)] for _ in range(2 ** nodes)]


def deterministic(nodes, seed):
    return [[0 if on < 0.5 else 1 for on in row] for row in noisy(nodes, seed)]


def gates(nodes, seed):
    numbers = Numbers(seed)
    noise = [0.0, 0.1, 0.25][int(numbers.next() * 3)]
    rules = []
    for node in range(nodes):
        inputs = {(node + nodes - 1) % nodes}
        inputs |= {source for source in range(nodes) if numbers.next() < 0.4}
        rules.append((sorted(inputs), int(numbers.next() * 4)))
    rows = []
    for state in range(2 ** nodes):
        row = []
        for inputs, gate in rules:
            on = sum(state >> source & 1 for source in inputs)
            is_on = [on > 0, on == len(inputs), on % 2 == 1, 2 * on > len(inputs)][gate]
            row.append(1 - noise if is_on else noise)
        rows.append(row)
    return rows


KINDS = {"kNoisy": noisy, "kDeterministic": deterministic, "kGates": gates}


def connectivity(tpm):
    """Returns from which nodes (rows) the next state of which (columns) depends."""
    nodes = len(tpm[0])
    return [[int(any(tpm[state][to] != tpm[state ^ 1 << source][to] for state in range(2 ** nodes)))
             for to in range(nodes)] for source in range(nodes)]


def reachable(tpm, state):
    return any(all(on != 1 - (state >> node & 1) for node, on in enumerate(row)) for row in tpm)


def mask(units):
    return sum(1 << int(unit) for unit in units)


def bits(units, states):
    return sum(int(on) << int(unit) for unit, on in zip(units, states))


def substrate_of(question):
    known = question.get("connectivity")
    return pyphi.Substrate(numpy.array(question["tpm"], dtype=float),
                           cm=None if known is None else numpy.array(known))


def side(mice):
    state = mice.specified_state
    return {"purview": mask(mice.purview), "phi": float(mice.phi),
            "state": bits(state.purview, state.state)}


def answer(question):
    """Analyses one system with its structure."""
    substrate = substrate_of(question)
    state = tuple(question["state"])
    begin = time.process_time()
    with pyphi.config.override(**pyphi.iit4_2023):
        system = pyphi.System(substrate, state, subset=question.get("members"))
        sia = system.sia()
        found = {"phi_s": float(sia.phi), "seconds_phi_s": time.process_time() - begin}
        structure = system.ces(sia=sia)
        found["distinctions"] = []
        for distinction in structure.distinctions:
            found["distinctions"].append({"mechanism": mask(distinction.mechanism),
                                          "phi": float(distinction.phi),
                                          "cause": side(distinction.cause),
                                          "effect": side(distinction.effect)})
        relations = structure.relations
        found["sum_phi_r"] = float(relations.sum_phi()) if found["distinctions"] else 0.0
        found["relations"] = int(relations.num_relations()) if found["distinctions"] else 0
        found["faces"] = int(relations.num_faces()) if found["distinctions"] else 0
        found["big_phi"] = float(structure.big_phi)
    found["seconds"] = time.process_time() - begin
    states = sia.system_state
    if states is not None and states.cause is not None and states.effect is not None:
        found["cause"] = bits(range(len(states.cause.state)), states.cause.state)
        found["effect"] = bits(range(len(states.effect.state)), states.effect.state)
    return found


def cases():
    """Yields kind, nodes, seed, state and members, as masks, of the systems of the header."""
    for nodes, seeds in ((2, 4), (3, 5), (4, 3), (5, 2)):
        for seed in range(seeds):
            for kind, make in KINDS.items():
                if nodes == 5 and kind == "kNoisy":
                    continue  # takes minutes
                tpm = make(nodes, seed)
                state = seed % 2 ** nodes
                while not reachable(tpm, state):
                    state = (state + 1) % 2 ** nodes
                subsets = [2 ** nodes - 1]
                if nodes in (3, 4) and seed == 0:
                    subsets += range(1, 2 ** nodes - 1)
                for members in subsets:
                    yield kind, nodes, seed, state, members


def complexes_of(question):
    """Returns mask and phi_s of each complex."""
    with pyphi.config.override(**pyphi.iit4_2023):
        found = substrate_of(question).complexes(tuple(question["state"]))
    return [(mask(each.node_indices), float(each.phi)) for each in found]


def header():
    systems, distinctions, complexes = [], [], []
    for kind, nodes, seed, state, members in cases():
        tpm = KINDS[kind](nodes, seed)
        question = {"tpm": tpm, "state": [state >> node & 1 for node in range(nodes)],
                    "connectivity": connectivity(tpm),
                    "members": [node for node in range(nodes) if members >> node & 1]}
        found = answer(question)
        systems.append(f"    {{TestingKind::{kind}, {nodes}, {seed}, {state}, {members}, "
                       f"{found['phi_s']:.13g}, {found['big_phi']:.13g}, {found['relations']}, "
                       f"{found['faces']}, {len(found['distinctions'])}}},")
        for each in sorted(found["distinctions"], key=lambda each: each["mechanism"]):
            sides = ", ".join(f"{each[name]['purview']}, {each[name]['phi']:.13g}"
                              for name in ("cause", "effect"))
            distinctions.append(f"    {{{each['mechanism']}, {sides}}},")
        if members == 2 ** nodes - 1 and nodes < 5:
            for subset, phi in sorted(complexes_of(question)):
                complexes.append(f"    {{{len(systems) - 1}, {subset}, {phi:.13g}}},")
    print(f"""\
// Values of PyPhi {pyphi.__version__} (https://github.com/wmayner/pyphi), preset iit4_2023, in bits.
// Made by pyphi_values.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "phi/discrete/subsets.h"

namespace reveza::phi {{

enum class TestingKind {{ kNoisy, kDeterministic, kGates }};

// A system of one of the networks of testing_networks.h. Nodes are those of the network.
struct PyPhiSystem {{
  TestingKind kind = TestingKind::kNoisy;
  int nodes = 0;
  std::uint64_t seed = 0;
  Nodes state = 0;
  Nodes members = 0;
  double phi_s = 0;
  double big_phi = 0;
  double relations = 0;
  double faces = 0;
  std::size_t distinctions = 0;  // rows of kPyPhiDistinctions, which has those of all in order
}};
struct PyPhiDistinction {{
  Nodes mechanism = 0;
  Nodes cause = 0;  // purview
  double cause_phi = 0;
  Nodes effect = 0;
  double effect_phi = 0;
}};
struct PyPhiComplex {{
  std::size_t system = 0;  // the whole network, a row of kPyPhiSystems
  Nodes members = 0;
  double phi_s = 0;
}};
""")
    for name, kind, rows in (("kPyPhiSystems", "PyPhiSystem", systems),
                             ("kPyPhiDistinctions", "PyPhiDistinction", distinctions),
                             ("kPyPhiComplexes", "PyPhiComplex", complexes)):
        print(f"inline constexpr std::array<{kind}, {len(rows)}> {name} = {{{{")
        print("\n".join(rows) + "\n}};\n")
    print("}  // namespace reveza::phi")


if __name__ == "__main__":
    if "--answer" in sys.argv:
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), flush=True)
    else:
        header()
