"""Takes its own process off the card and back by the driver's checkpoint alone, its memory included,
and prints the milliseconds of both ways of each round as JSON. Ends with 1 if a byte has changed.

    python3 bench/gpu/checkpoint_alone.py --name alone --bytes 8589934592 --rounds 3"""

import argparse
import array
import ctypes
import json
import os
import sys
import time

OPTIONS = argparse.ArgumentParser(description=__doc__)
OPTIONS.add_argument("--name", default="alone")
OPTIONS.add_argument("--bytes", type=int, required=True)
OPTIONS.add_argument("--rounds", type=int, default=3)
ARGUMENTS = OPTIONS.parse_args()
CUDA = ctypes.CDLL("libcuda.so.1")
WORD = 4


def call(name, *arguments):
    status = getattr(CUDA, name)(*arguments)
    if status != 0:
        sys.exit(f"{name}: error {status}")


def milliseconds(*names):
    """Returns the duration of calls that take the process and optional arguments."""
    begin = time.monotonic()
    for name in names:
        call(name, os.getpid(), None)
    return round(1e3 * (time.monotonic() - begin), 1)


def words_at(address, count):
    words = array.array("I", bytes(WORD * count))
    target = (ctypes.c_char * (WORD * count)).from_buffer(words)
    call("cuMemcpyDtoH_v2", target, ctypes.c_uint64(address), ctypes.c_size_t(WORD * count))
    return words


def main():
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(ARGUMENTS.bytes))
    pieces = 64
    size = ARGUMENTS.bytes // pieces // WORD * WORD
    for piece in range(pieces):
        call("cuMemsetD32_v2", ctypes.c_uint64(memory.value + piece * size), ctypes.c_uint(piece + 1),
             ctypes.c_size_t(size // WORD))
    call("cuCtxSynchronize")
    down, up = [], []
    for _ in range(ARGUMENTS.rounds):
        down.append(milliseconds("cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint"))
        up.append(milliseconds("cuCheckpointProcessRestore", "cuCheckpointProcessUnlock"))
    for piece in range(pieces):
        for offset in (0, size - 1024 * WORD):
            if set(words_at(memory.value + piece * size + offset, 1024)) != {piece + 1}:
                sys.exit(f"piece {piece} has changed")
    print(json.dumps({"name": ARGUMENTS.name, "down_ms": down, "up_ms": up}))


main()
