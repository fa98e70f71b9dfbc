#!/usr/bin/env python3
"""How fast the host's memory can be touched, fresh and again, as libreveza.so does: in huge pages, in
parallel. The memory of a virtual machine is fresh once."""

import ctypes
import threading
import time

MADV_HUGEPAGE, MADV_POPULATE_WRITE = 14, 23
READ_WRITE, PRIVATE_ANONYMOUS = 3, 0x22
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def touch(gib, threads, note):
    size = gib << 30
    at = LIBC.mmap(None, size, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0)
    LIBC.madvise(at, size, MADV_HUGEPAGE)
    part = size // threads
    begin = time.time()
    workers = [threading.Thread(target=LIBC.madvise,
                                args=(at + i * part, part, MADV_POPULATE_WRITE))
               for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    spent = time.time() - begin
    print(f"{note}: {gib} GiB, {threads} threads: {spent:.2f} s, {size / spent / 1e9:.2f} GB/s",
          flush=True)
    return at, size


def main():
    for note in ("fresh", "again"):
        held = [touch(8, threads, note) for threads in (1, 4, 16)]
        for one in held:
            LIBC.munmap(*one)


if __name__ == "__main__":
    main()
