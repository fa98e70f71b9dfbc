#!/usr/bin/env python3
"""Frees memory of one device while the other is current, with and without work on it that is queued, and
uses memory that is allocated right after. Calls the driver alone, so that no framework's cache is between."""

import ctypes
import hashlib

from workload import Loop, parser

OPTIONS = parser(__doc__)
ARGUMENTS = OPTIONS.parse_args()

# fakecuda has a kernel of this name.
SPIN = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry reveza_spin(.param .u64 nanoseconds)
{
  .reg .u64 %t<4>;
  .reg .pred %p;
  ld.param.u64 %t0, [nanoseconds];
  mov.u64 %t1, %globaltimer;
again:
  mov.u64 %t2, %globaltimer;
  sub.u64 %t3, %t2, %t1;
  setp.lt.u64 %p, %t3, %t0;
  @%p bra again;
  ret;
}
"""
PART = 16 << 20
QUEUED_NS = 5_000_000
NON_BLOCKING = 1
DRIVER = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(DRIVER, name)(*arguments)
    if result:
        raise SystemExit(f"{name} returned {result}")


def address_of(size):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    return address


def fill(address, offset, value, size, stream=None):
    call("cuMemsetD8Async", ctypes.c_uint64(address.value + offset), ctypes.c_ubyte(value),
         ctypes.c_size_t(size), stream)


def byte_at(address, offset):
    byte = ctypes.c_ubyte()
    call("cuMemcpyDtoH_v2", ctypes.byref(byte), ctypes.c_uint64(address.value + offset),
         ctypes.c_size_t(1))
    return byte.value


class Device:
    """A device's context, a stream, and memory that is held until the end."""

    def __init__(self, index, size):
        device = ctypes.c_int()
        self.context, module, self.spin = (ctypes.c_void_p() for _ in range(3))
        self.stream = ctypes.c_void_p()
        call("cuDeviceGet", ctypes.byref(device), index)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.make_current()
        call("cuModuleLoadData", ctypes.byref(module), SPIN)
        call("cuModuleGetFunction", ctypes.byref(self.spin), module, b"reveza_spin")
        call("cuStreamCreate", ctypes.byref(self.stream), NON_BLOCKING)
        self.parts = size // PART
        self.held = address_of(self.parts * PART)
        fill(self.held, 0, 0, self.parts * PART)
        call("cuCtxSynchronize")

    def make_current(self):
        call("cuCtxSetCurrent", self.context)

    def keep_busy(self):
        nanoseconds = ctypes.c_uint64(QUEUED_NS)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(nanoseconds))
        call("cuLaunchKernel", self.spin, 1, 1, 1, 1, 1, 1, 0, self.stream, parameters, None)


def step_of(step, here, other):
    """Returns the bytes that were read: of memory that queued work on freed memory must not reach, and of
    what is held."""
    here.make_current()
    freed = address_of(PART)
    here.keep_busy()
    fill(freed, 0, 7, PART, here.stream)
    other.make_current()
    call("cuMemFree_v2", freed)
    here.make_current()
    after = address_of(PART)
    fill(after, 0, 3, PART)
    call("cuCtxSynchronize")
    seen = [byte_at(after, 0), byte_at(after, PART - 1)]
    other.make_current()
    call("cuMemFree_v2", after)
    here.make_current()
    offset = step % here.parts * PART
    seen.append(byte_at(here.held, offset))
    fill(here.held, offset, 1 + step % 251, PART)
    return seen


def main():
    call("cuInit", 0)
    devices = [Device(index, int(ARGUMENTS.gib * 2**30)) for index in range(2)]
    seen = []
    loop = Loop()
    for step in range(ARGUMENTS.steps):
        seen += step_of(step, devices[step % 2], devices[(step + 1) % 2])
    for device in devices:
        device.make_current()
        call("cuCtxSynchronize")
        seen += [byte_at(device.held, part * PART + PART // 2) for part in range(device.parts)]
    reached = sum(byte != 3 for step in range(ARGUMENTS.steps) for byte in seen[3 * step:3 * step + 2])
    digest = int.from_bytes(hashlib.sha256(bytes(seen)).digest()[:8], "little")
    loop.report(ARGUMENTS, digest, reached_by_freed=reached)


if __name__ == "__main__":
    main()
