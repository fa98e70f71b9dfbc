#!/usr/bin/env python3
"""How fast the host's memory can be touched and registered with the driver, by the ways to do it; the
first is that of libreveza.so. Each way gets memory of its own, held until all are done: that of a
virtual machine is fresh once. Then again, with memory that was used before."""

import argparse
import ctypes
import mmap
import os
import threading
import time

MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_POPULATE_WRITE = 14, 15, 23
READ_WRITE, PRIVATE_ANONYMOUS, SHARED = 3, 0x22, 1
HUGE = 2 << 20
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]


class Driver:
    """The calls of the driver that this needs, in a context of the first device; none without one."""

    def __init__(self):
        self._library = None
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            return
        context, device = ctypes.c_void_p(), ctypes.c_int()
        if library.cuInit(0) == 0 and library.cuDeviceGet(ctypes.byref(device), 0) == 0 and \
                library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0 and \
                library.cuCtxSetCurrent(context) == 0:
            self._library = library

    def __bool__(self):
        return self._library is not None

    def register(self, at, size):
        if self and self._library.cuMemHostRegister_v2(
                ctypes.c_void_p(at), ctypes.c_size_t(size), 1) != 0:
            raise RuntimeError("cuMemHostRegister failed")

    def unregister(self, at):
        if self:
            self._library.cuMemHostUnregister(ctypes.c_void_p(at))

    def allocate(self, size):
        at = ctypes.c_void_p()
        if self._library.cuMemHostAlloc(ctypes.byref(at), ctypes.c_size_t(size), 1) != 0:
            raise RuntimeError("cuMemHostAlloc failed")
        return at.value

    def free(self, at):
        self._library.cuMemFreeHost(ctypes.c_void_p(at))


def in_parallel(threads, call, at, size):
    """Calls call(address, bytes) for parts of memory, each in a thread of its own."""
    part = -(-size // threads // HUGE) * HUGE
    workers = [threading.Thread(target=call, args=(at + begin, min(part, size - begin)))
               for begin in range(0, size, part)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def populate(at, size):
    if LIBC.madvise(at, size, MADV_POPULATE_WRITE) != 0:
        raise OSError(ctypes.get_errno(), "madvise(MADV_POPULATE_WRITE)")


def memory():
    """Returns GiB in total, and available, of the machine; of this process in huge pages."""
    found = {}
    for path in ("/proc/meminfo", "/proc/self/smaps_rollup"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if rest.strip().endswith("kB"):
                    found[name] = int(rest.split()[0]) / 2**20
    huge = (found["AnonHugePages"] if "AnonHugePages" in found else 0) + found.get("ShmemPmdMapped", 0)
    return found["MemTotal"], found["MemAvailable"], huge


class Way:
    """One way to take memory: `chunk` bytes at a time, touched by `threads` (0: not at all) before it
    is registered; in huge pages or not, anonymous or of a memfd."""

    def __init__(self, name, chunk, threads, huge=True, shared=False, driver_allocates=False):
        self.name, self.chunk, self.threads = name, chunk, threads
        self.huge, self.shared, self.driver_allocates = huge, shared, driver_allocates

    def _map(self, size):
        fd = -1
        if self.shared:
            fd = os.memfd_create("host_memory")
            os.ftruncate(fd, size + HUGE)
        at = LIBC.mmap(None, size + HUGE, READ_WRITE, SHARED if self.shared else PRIVATE_ANONYMOUS,
                       fd, 0)
        if fd >= 0:
            os.close(fd)
        if at in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        at = -(-at // HUGE) * HUGE
        LIBC.madvise(at, size, MADV_HUGEPAGE if self.huge else MADV_NOHUGEPAGE)
        return at

    def take(self, driver, size, note):
        """Takes memory, prints how long it took, and returns what frees it."""
        held, touched, registered, slowest = [], 0.0, 0.0, 0.0
        total, available, huge = memory()
        for begin in range(0, size, self.chunk):
            part = min(self.chunk, size - begin)
            first = time.monotonic()
            at = driver.allocate(part) if self.driver_allocates else self._map(part)
            if self.threads:
                in_parallel(self.threads, populate, at, part)
            second = time.monotonic()
            if not self.driver_allocates:
                driver.register(at, part)
            third = time.monotonic()
            touched, registered = touched + second - first, registered + third - second
            slowest = max(slowest, third - first)
            held.append((at, part))
        after = memory()
        print(f"{note}: {self.name}: {size / 2**30:g} GiB in {touched + registered:.2f} s, "
              f"{size / (touched + registered) / 1e9:.2f} GB/s; touched {touched:.2f} s, registered "
              f"{registered:.2f} s, slowest chunk {slowest:.2f} s; in huge pages "
              f"{after[2] - huge:.2f} GiB; the machine's total, available: {total:.1f}, "
              f"{available:.1f} to {after[0]:.1f}, {after[1]:.1f} GiB", flush=True)

        def free():
            for at, part in held:
                if self.driver_allocates:
                    driver.free(at)
                else:
                    driver.unregister(at)
                    LIBC.munmap(at, part)
        return held, free


def ways(driver, size):
    chunk = min(512 << 20, size)
    yield Way("chunks of 512 MiB, 8 threads", chunk, 8)
    yield Way("one chunk, 8 threads", size, 8)
    yield Way("chunks of 512 MiB, 1 thread", chunk, 1)
    yield Way("chunks of 512 MiB, all cores", chunk, os.cpu_count())
    yield Way("chunks of 64 MiB, 4 threads", chunk // 8, 4)
    yield Way("small pages, 8 threads", chunk, 8, huge=False)
    yield Way("memfd, 8 threads", chunk, 8, shared=True)
    if driver:
        yield Way("registered untouched", chunk, 0)
        yield Way("cuMemHostAlloc", chunk, 0, driver_allocates=True)


def show_setting(path):
    try:
        with open(path, encoding="utf-8") as file:
            print(f"{path}: {file.read().strip()}")
    except OSError as error:
        print(f"{path}: {error.strerror}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--gib", type=float, default=4, help="memory of each way")
    options.add_argument("--only", default="", help="only ways whose name contains this")
    arguments = options.parse_args()
    size = int(arguments.gib * 2**30) // mmap.PAGESIZE * mmap.PAGESIZE // HUGE * HUGE
    for name in ("enabled", "shmem_enabled", "defrag"):
        show_setting(f"/sys/kernel/mm/transparent_hugepage/{name}")
    print(f"{os.uname().release}, {os.cpu_count()} cores", flush=True)
    driver = Driver()
    if not driver:
        print("no driver: nothing is registered")
    for note in ("fresh", "again"):
        taken = [way.take(driver, size, note) for way in ways(driver, size)
                 if arguments.only in way.name]
        held = taken[0][0]
        begin = time.monotonic()
        for at, part in held:
            in_parallel(8, lambda at, part: LIBC.memset(at, 1, part), at, part)
        spent = time.monotonic() - begin
        print(f"{note}: written once more, 8 threads: {size / spent / 1e9:.2f} GB/s", flush=True)
        for _, free in taken:
            free()


if __name__ == "__main__":
    main()
