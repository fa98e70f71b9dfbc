// A minimal fake libcuda.so.1 for tests of the resolver; its calls only record their name. It has
// entries of every kind the resolver distinguishes, including some newer than any table.
#include <cuda.h>

#include <cstring>
#include <string_view>

#define MINI_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
const char* last_call = "";
double last_sum = 0;

CUresult Note(const char* name) {
  last_call = name;
  return CUDA_SUCCESS;
}
}  // namespace

MINI_EXPORT const char* miniLastCall() { return last_call; }
MINI_EXPORT double miniLastSum() { return last_sum; }

MINI_EXPORT CUresult cuInit(unsigned) { return Note("cuInit"); }
MINI_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 99000;
  return Note("cuDriverGetVersion");
}
MINI_EXPORT CUresult cuMemAlloc(CUdeviceptr_v1*, unsigned) { return Note("cuMemAlloc"); }
MINI_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr*, size_t) { return Note("cuMemAlloc_v2"); }
MINI_EXPORT CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, size_t) { return Note("cuMemcpy"); }
MINI_EXPORT CUresult cuMemcpy_ptds(CUdeviceptr, CUdeviceptr, size_t) {
  return Note("cuMemcpy_ptds");
}
// Two names for one address; the older one is passed.
MINI_EXPORT CUresult cuMemcpyAtoH(void*, CUarray, unsigned, unsigned) {
  return Note("cuMemcpyAtoH");
}
asm(".globl cuMemcpyAtoH_v2\n.type cuMemcpyAtoH_v2, %function\n.set cuMemcpyAtoH_v2, cuMemcpyAtoH");
MINI_EXPORT CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, CUstream, void**, void**) {
  return Note("cuLaunchKernel");
}
MINI_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, unsigned, unsigned, CUstream, void**, void**) {
  return Note("cuLaunchKernel_ptsz");
}
MINI_EXPORT CUresult cuCtxGetCurrent(CUcontext*) { return Note("cuCtxGetCurrent"); }
MINI_EXPORT CUresult cuStreamQuery(CUstream) { return Note("cuStreamQuery"); }
MINI_EXPORT CUresult cuProfilerStart() { return Note("cuProfilerStart"); }

// Newer than the header that the library may be built with, but in the table.
MINI_EXPORT CUresult cuStreamBeginRecaptureToGraph(CUstream, CUstreamCaptureMode, CUgraph,
                                                   CUgraphRecaptureCallback, void*) {
  return Note("cuStreamBeginRecaptureToGraph");
}
MINI_EXPORT CUresult cuGraphNodeGetLocalId(CUgraphNode, unsigned*) {
  return Note("cuGraphNodeGetLocalId");
}

// Newer than any table.
MINI_EXPORT CUresult cuStreamGetFuture(CUstream, int*) { return Note("cuStreamGetFuture"); }
MINI_EXPORT CUresult cuMemGetFuture(CUdeviceptr, int*) { return Note("cuMemGetFuture"); }
MINI_EXPORT CUresult cuMemAlloc_v9(CUdeviceptr*, size_t, int) { return Note("cuMemAlloc_v9"); }
MINI_EXPORT CUresult cuStreamQuery_v9(CUstream, int) { return Note("cuStreamQuery_v9"); }
MINI_EXPORT double cuFutureCall(int a, double b, long c, double d, void* e, double f, int g,
                                double h, int i, double j, int k, double l, int m, double n, int o,
                                double p, double q, long r) {
  last_sum = a + 2 * b + 3 * static_cast<double>(c) + 4 * d +
             5 * static_cast<double>(reinterpret_cast<long>(e)) + 6 * f + 7 * g + 8 * h + 9 * i +
             10 * j + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q +
             18 * static_cast<double>(r);
  Note("cuFutureCall");
  return last_sum;
}

namespace {

struct Row {
  std::string_view symbol;
  int version;
  bool per_thread;
  void* function;
};

CUresult Find(const char* symbol, void** function, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult* status);

}  // namespace

MINI_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                      cuuint64_t flags) {
  return Find(symbol, function, version, flags, nullptr);
}
MINI_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                         cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  return Find(symbol, function, version, flags, status);
}

namespace {

template <typename F>
void* Address(F* function) {
  return reinterpret_cast<void*>(function);
}

CUresult Find(const char* symbol, void** function, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult* status) {
  // The newest entry not newer than `version` is returned, so newer entries come first.
  static const Row kRows[] = {
      {"cuInit", 2000, false, Address(&cuInit)},
      {"cuMemAlloc", 99000, false, Address(&cuMemAlloc_v9)},
      {"cuMemAlloc", 3020, false, Address(&cuMemAlloc_v2)},
      {"cuMemAlloc", 2000, false, Address(&cuMemAlloc)},
      {"cuMemcpyAtoH", 3020, false, Address(&cuMemcpyAtoH_v2)},
      {"cuMemcpy", 7000, true, Address(&cuMemcpy_ptds)},
      {"cuMemcpy", 4000, false, Address(&cuMemcpy)},
      {"cuLaunchKernel", 7000, true, Address(&cuLaunchKernel_ptsz)},
      {"cuLaunchKernel", 4000, false, Address(&cuLaunchKernel)},
      {"cuCtxGetCurrent", 4000, false, Address(&cuCtxGetCurrent)},
      {"cuStreamQuery", 99000, false, Address(&cuStreamQuery_v9)},
      {"cuStreamQuery", 2000, false, Address(&cuStreamQuery)},
      {"cuProfilerStart", 4000, false, Address(&cuProfilerStart)},
      {"cuFutureCall", 99000, false, Address(&cuFutureCall)},
      {"cuGetProcAddress", 12000, false, Address(&cuGetProcAddress_v2)},
      {"cuGetProcAddress", 11030, false, Address(&cuGetProcAddress)},
  };
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  bool known = false;
  for (const Row& row : kRows) {
    if (row.symbol != symbol) continue;
    known = true;
    if (row.version > version || (row.per_thread && !per_thread)) continue;
    *function = row.function;
    if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  *function = nullptr;
  if (status == nullptr) return CUDA_ERROR_NOT_FOUND;
  *status =
      known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}

}  // namespace
