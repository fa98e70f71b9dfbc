#!/usr/bin/env python3
"""Asks PyPhi 1.2.0 for Phi of networks, which it reads from standard input.

Each line is a JSON object with "tpm" (state by node) and "state"; each line of the answer has
"phi" and "concepts": [mechanism, phi, cause purview, effect purview]. PyPhi is a program of other
people under another licence: it runs here as itself, and only in tests.
"""

import collections
import collections.abc
import json
import os
import sys
import time

# PyPhi 1.2.0 looks for these where Python 3.9 and before had them.
for name in ("Iterable", "Mapping", "MutableMapping", "Sequence"):
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))
os.environ["PYPHI_WELCOME_OFF"] = "yes"

import numpy as np  # noqa: E402
import pyphi  # noqa: E402

pyphi.config.PROGRESS_BARS = False
pyphi.config.PARALLEL_CUT_EVALUATION = False
pyphi.config.CACHE_SIAS = False


def answer(question: dict) -> dict:
    network = pyphi.Network(np.array(question["tpm"]))
    state = tuple(question["state"])
    begin = time.perf_counter()
    try:
        subsystem = pyphi.Subsystem(network, state, range(len(state)))
    except pyphi.exceptions.StateUnreachableError:
        return {"unreachable": True}
    found = pyphi.compute.sia(subsystem)
    seconds = time.perf_counter() - begin
    concepts = pyphi.compute.ces(subsystem)
    return {"phi": float(found.phi), "seconds": seconds,
            "concepts": [[list(map(int, c.mechanism)), float(c.phi),
                          list(map(int, c.cause.purview)), list(map(int, c.effect.purview))]
                         for c in concepts]}


def main() -> int:
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
