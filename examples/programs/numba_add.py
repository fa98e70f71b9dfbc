#!/usr/bin/env python3
"""A kernel of Numba over an array on the card. NUMBA_ENABLE_CUDASIM=1 runs it without a card.

  reveza run -- python numba_add.py [WORDS]
"""

import sys

import numpy
from numba import cuda


@cuda.jit
def add(array, number):
    index = cuda.grid(1)
    if index < array.size:
        array[index] += number


def main() -> None:
    words = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 28
    array = cuda.to_device(numpy.arange(words, dtype=numpy.int32))
    for step in range(20):
        add[(words + 255) // 256, 256](array, step)
    cuda.synchronize()
    found = array.copy_to_host()
    wrong = int((found != numpy.arange(words, dtype=numpy.int32) + sum(range(20))).sum())
    print(f"{words} words, {wrong} wrong")
    sys.exit(wrong != 0)


main()
