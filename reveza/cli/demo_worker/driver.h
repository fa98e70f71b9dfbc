// The driver calls that the client programs make, resolved at run time the way real programs do it:
// through cuGetProcAddress (as a CUDA runtime does), through dlsym (as Go, Julia and old runtimes
// do), with per-thread default streams, or bound directly by the dynamic linker (driver_direct.cc).
//
// Thread-safety: immutable after Load.
#pragma once

#include <cuda.h>

#include <string>

namespace reveza::clients {

// Every call once. A name is the plain one of cuda.h; the header's macros add the version.
#define REVEZA_CLIENT_CALLS(X)      \
  X(cuInit)                         \
  X(cuDriverGetVersion)             \
  X(cuGetErrorName)                 \
  X(cuDeviceGet)                    \
  X(cuDeviceGetAttribute)           \
  X(cuDeviceGetCount)               \
  X(cuDeviceGetName)                \
  X(cuDeviceCanAccessPeer)          \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuDevicePrimaryCtxRelease)      \
  X(cuDevicePrimaryCtxReset)        \
  X(cuCtxCreate)                    \
  X(cuCtxDestroy)                   \
  X(cuCtxSetCurrent)                \
  X(cuCtxGetCurrent)                \
  X(cuCtxSynchronize)               \
  X(cuCtxEnablePeerAccess)          \
  X(cuModuleLoadData)               \
  X(cuModuleUnload)                 \
  X(cuModuleGetFunction)            \
  X(cuLaunchKernel)                 \
  X(cuMemAlloc)                     \
  X(cuMemFree)                      \
  X(cuMemAllocManaged)              \
  X(cuMemGetInfo)                   \
  X(cuPointerGetAttribute)          \
  X(cuMemAllocHost)                 \
  X(cuMemHostAlloc)                 \
  X(cuMemHostRegister)              \
  X(cuMemHostUnregister)            \
  X(cuMemHostGetDevicePointer)      \
  X(cuMemFreeHost)                  \
  X(cuMemcpyHtoD)                   \
  X(cuMemcpyDtoH)                   \
  X(cuMemcpyHtoDAsync)              \
  X(cuMemcpyDtoHAsync)              \
  X(cuMemcpyDtoDAsync)              \
  X(cuMemcpyPeerAsync)              \
  X(cuMemsetD8)                     \
  X(cuMemsetD8Async)                \
  X(cuMemsetD32Async)               \
  X(cuMemAllocAsync)                \
  X(cuMemFreeAsync)                 \
  X(cuMemCreate)                    \
  X(cuMemRelease)                   \
  X(cuMemAddressReserve)            \
  X(cuMemAddressFree)               \
  X(cuMemMap)                       \
  X(cuMemUnmap)                     \
  X(cuMemSetAccess)                 \
  X(cuMemRetainAllocationHandle)    \
  X(cuMemExportToShareableHandle)   \
  X(cuMemImportFromShareableHandle) \
  X(cuMemGetAllocationGranularity)  \
  X(cuStreamCreate)                 \
  X(cuStreamDestroy)                \
  X(cuStreamSynchronize)            \
  X(cuStreamQuery)                  \
  X(cuStreamWaitEvent)              \
  X(cuStreamWaitValue32)            \
  X(cuStreamWriteValue32)           \
  X(cuStreamBeginCapture)           \
  X(cuStreamEndCapture)             \
  X(cuEventCreate)                  \
  X(cuEventDestroy)                 \
  X(cuEventRecord)                  \
  X(cuEventQuery)                   \
  X(cuEventSynchronize)             \
  X(cuIpcGetEventHandle)            \
  X(cuIpcOpenEventHandle)           \
  X(cuIpcGetMemHandle)              \
  X(cuIpcOpenMemHandle)             \
  X(cuIpcCloseMemHandle)            \
  X(cuGraphInstantiateWithFlags)    \
  X(cuGraphLaunch)                  \
  X(cuGraphExecDestroy)             \
  X(cuGraphDestroy)

enum class Resolve {
  kGetProcAddress,
  kDlsym,
  kPerThread,  // cuGetProcAddress with the flag for per-thread default streams
  kDirect,     // the symbols that this program was linked to
};

struct Driver {
#define REVEZA_CLIENT_MEMBER(name) decltype(&::name) name = nullptr;
  REVEZA_CLIENT_CALLS(REVEZA_CLIENT_MEMBER)
#undef REVEZA_CLIENT_MEMBER

  // Exits with a line on stderr and status 1 if the driver or a call is missing.
  static Driver Load(Resolve how);
  // The one way this program was built for; --resolve may ask for another of the run-time ways.
  static Resolve Default();
};

// Exits with "what failed: CUDA_ERROR_…" and status 1 unless result is success.
void CheckCall(const Driver& driver, CUresult result, const char* what, int line);

#define REVEZA_CHECK(driver, call) \
  ::reveza::clients::CheckCall((driver), (driver).call, #call, __LINE__)

// Prints the message and exits with status 1, without running exit handlers of other threads.
[[noreturn]] void Die(const std::string& message);

}  // namespace reveza::clients
