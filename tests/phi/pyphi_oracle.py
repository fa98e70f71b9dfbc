#!/usr/bin/env python3
"""Computes Phi of networks with PyPhi 1.2.0, as an oracle for tests.

Reads one JSON object per line with "tpm" (state by node), "state" and, if known, "connectivity" (rows:
from, columns: to; else PyPhi takes all nodes as connected), and prints one per line with
"phi" and "concepts": [mechanism, phi, cause purview, effect purview]. PyPhi has a different licence;
it runs as a separate process, in tests only.
"""

import collections
import collections.abc
import json
import os
import sys
import time

# PyPhi 1.2.0 imports these from their location in Python 3.9 and earlier.
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
    connectivity = question.get("connectivity")
    network = pyphi.Network(np.array(question["tpm"]),
                            cm=None if connectivity is None else np.array(connectivity))
    state = tuple(question["state"])
    begin = time.process_time()
    try:
        subsystem = pyphi.Subsystem(network, state, range(len(state)))
    except pyphi.exceptions.StateUnreachableError:
        return {"unreachable": True}
    found = pyphi.compute.sia(subsystem)
    seconds = time.process_time() - begin
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
