"""What a cell of the demo computes with: an array on the card, through the CUDA driver and nothing else.

Stands in for PyTorch, which fakecuda cannot run.
"""

import ctypes

_cuda = ctypes.CDLL("libcuda.so.1")


def _call(name, *arguments):
    result = getattr(_cuda, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name}: {result}")


class Array:
    """Words on the card that all have the same value."""

    def __init__(self, mib, value):
        self.words = mib << 18
        self.value = value
        self._address, context, module = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuInit", 0)
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        _call("cuCtxSetCurrent", context)
        _call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(b"kernels"))
        self._kernels = {}
        for name in ("fill", "add", "verify", "spin"):
            self._kernels[name] = ctypes.c_void_p()
            _call("cuModuleGetFunction", ctypes.byref(self._kernels[name]), module,
                  f"reveza_{name}".encode())
        _call("cuMemAlloc_v2", ctypes.byref(self._address), ctypes.c_size_t(mib << 20))
        self._launch("fill", self._address, ctypes.c_size_t(self.words), ctypes.c_uint(value))
        _call("cuCtxSynchronize")

    def _launch(self, kernel, *values):
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
        _call("cuLaunchKernel", self._kernels[kernel], 1, 1, 1, 32, 1, 1, 0, None, pointers, None)

    def add(self, count, spin_ms=0):
        """Adds 1 to each word, `count` times, each followed by a kernel that takes `spin_ms`."""
        for _ in range(count):
            self._launch("add", self._address, ctypes.c_size_t(self.words), ctypes.c_uint(1))
            self._launch("spin", ctypes.c_ulonglong(spin_ms * 1_000_000))
        _call("cuCtxSynchronize")
        self.value += count
        return self

    def wrong_words(self):
        """Returns how many words do not have the value that was computed."""
        count = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(count), ctypes.c_size_t(8))
        _call("cuMemsetD8_v2", count, ctypes.c_ubyte(0), ctypes.c_size_t(8))
        self._launch("verify", self._address, ctypes.c_size_t(self.words), ctypes.c_uint(self.value),
                     count)
        found = ctypes.c_uint64()
        _call("cuMemcpyDtoH_v2", ctypes.byref(found), count, ctypes.c_size_t(8))
        _call("cuMemFree_v2", count)
        return found.value
