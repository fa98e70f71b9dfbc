#!/usr/bin/env python3
"""A rank of `mpirun` or `torchrun` with an array on the card, through CUDA's driver and nothing else.

  reveza run --name ranks -- mpirun -np 2 python ranks.py [MIB]

Each rank adds to its array again and again, then checks every word, and prints what it found.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "notebooks"))
from card import Array  # noqa: E402


def rank() -> int:
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "RANK"):
        if name in os.environ:
            return int(os.environ[name])
    raise SystemExit("ranks.py: no rank; start it with mpirun or torchrun")


def main() -> None:
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    number = rank()
    array = Array(mib, value=number << 16)
    for _ in range(50):
        array.add(4, spin_ms=5)
    print(f"rank {number}: {array.value}, {array.wrong_words()} words wrong", flush=True)


main()
