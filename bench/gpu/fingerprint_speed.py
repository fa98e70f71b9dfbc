#!/usr/bin/env python3
"""Checks the kernel of fingerprints against big integers, and measures it beside the memory.

  bench/gpu/fingerprint_speed.py [--build build] [--gib 4] [--rounds 5]

Needs a GPU. Prints the share of the bandwidth at which the driver copies on the GPU (bytes
read and written) that the kernel reaches (bytes read).
"""

import argparse
import array
import ctypes
import pathlib
import random
import sys

PRIME = 2**61 - 1
BLOCKS = THREADS = 256
PIECE = 64 << 20
MAX_PIECES = 32

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        sys.exit(f"{name} failed: {result}")


def reference(words, a, k):
    """Computes the hash of the words, as the header describes it."""
    weights = [pow(a, i, PRIME) for i in range(8)]
    row = BLOCKS * THREADS
    powers = [1]
    for _ in range(row - 1):
        powers.append(powers[-1] * k % PRIME)
    total = 0
    for first in range(0, len(words) // 8, row):
        total *= pow(k, row, PRIME)
        for t in range(min(row, len(words) // 8 - first)):
            at = 8 * (first + t)
            total += powers[t] * sum(w * m for w, m in zip(weights, words[at:at + 8]))
        total %= PRIME
    return total


class Kernel:
    def __init__(self, image):
        module = ctypes.c_void_p()
        self.function = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), image)
        call("cuModuleGetFunction", ctypes.byref(self.function), module, b"reveza_fingerprint")
        self.sums = ctypes.c_void_p()
        call("cuMemHostAlloc", ctypes.byref(self.sums), 2 * 8 * BLOCKS * MAX_PIECES, 2)
        self.keys = [(random.randrange(PRIME), random.randrange(PRIME)) for _ in range(2)]

    def launch(self, pieces):
        """Computes the fingerprints of up to MAX_PIECES pairs of address and size."""
        ranges = (ctypes.c_uint64 * (2 * MAX_PIECES))()
        for i, (address, size) in enumerate(pieces):
            ranges[2 * i:2 * i + 2] = [address, size // 32]
        values = []
        for a, k in self.keys:
            values += [a, k, pow(k, THREADS, PRIME), pow(k, THREADS * BLOCKS, PRIME)]
        values.append(self.sums.value)
        holders = [ranges] + [ctypes.c_uint64(value) for value in values]
        parameters = (ctypes.c_void_p * len(holders))(*(ctypes.addressof(h) for h in holders))
        call("cuLaunchKernel", self.function, BLOCKS, len(pieces), 1, THREADS, 1, 1, 0, None,
             parameters, None)

    def hashes(self, piece):
        call("cuCtxSynchronize")
        sums = (ctypes.c_uint64 * (2 * BLOCKS)).from_address(self.sums.value + 16 * BLOCKS * piece)
        return [sum(sums[i::2]) % PRIME for i in range(2)]


def milliseconds(work):
    begin, end = ctypes.c_void_p(), ctypes.c_void_p()
    took = ctypes.c_float()
    call("cuEventCreate", ctypes.byref(begin), 0)
    call("cuEventCreate", ctypes.byref(end), 0)
    call("cuEventRecord", begin, None)
    work()
    call("cuEventRecord", end, None)
    call("cuEventSynchronize", end)
    call("cuEventElapsedTime", ctypes.byref(took), begin, end)
    return took.value


def check(kernel, address):
    size = 4 << 20
    zeros = bytes(size)
    cases = (("random words", random.randbytes(size)), ("zeros", zeros),
             ("ones", b"\xff" * size), ("one bit", zeros[:-1] + b"\x01"))
    pieces = [(address.value + i * size, size) for i in range(len(cases))]
    for (at, _), (_, contents) in zip(pieces, cases):
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(at), contents, ctypes.c_size_t(size))
    kernel.launch(pieces)
    for i, (what, contents) in enumerate(cases):
        words = array.array("I", contents)
        found = kernel.hashes(i)
        expected = [reference(words, a, k) for a, k in kernel.keys]
        print(f"{what}: {'as computed with big integers' if found == expected else 'WRONG'}")
        if found != expected:
            sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    image = pathlib.Path(options.build, "reveza/gpu/interpose/fingerprint.fatbin").read_bytes()
    context, name = ctypes.c_void_p(), ctypes.create_string_buffer(100)
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuDeviceGetName", name, 100, 0)
    kernel = Kernel(image)
    size = int(options.gib * 2**30) // PIECE * PIECE
    data, copy = ctypes.c_uint64(), ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(size))
    call("cuMemAlloc_v2", ctypes.byref(copy), ctypes.c_size_t(size))
    print(name.value.decode(), f"{size / 2**30:g} GiB in pieces of 64 MiB")
    check(kernel, data)
    call("cuMemsetD8_v2", data, 7, ctypes.c_size_t(size))

    def fingerprints():
        for first in range(0, size, MAX_PIECES * PIECE):
            kernel.launch([(data.value + at, PIECE)
                           for at in range(first, min(first + MAX_PIECES * PIECE, size), PIECE)])

    for _ in range(options.rounds):
        took = milliseconds(fingerprints)
        copied = milliseconds(
            lambda: call("cuMemcpyDtoDAsync_v2", copy, data, ctypes.c_size_t(size), None))
        print(f"fingerprints {took:.2f} ms, {size / took / 1e6:.0f} GB/s; copy on the GPU "
              f"{copied:.2f} ms, {2 * size / copied / 1e6:.0f} GB/s; share "
              f"{copied / took / 2:.2f}")


if __name__ == "__main__":
    main()
