// The driver calls of random programs, resolved at run time in one of the ways of real programs.
#pragma once

#include <cuda.h>

#include "tests/random_programs/program.h"

namespace reveza::random_programs {

// A name is the plain one of cuda.h; the header's macros add the version.
#define RANDOM_PROGRAMS_CALLS(X)    \
  X(cuInit)                         \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuDevicePrimaryCtxRelease)      \
  X(cuDevicePrimaryCtxReset)        \
  X(cuCtxCreate)                    \
  X(cuCtxDestroy)                   \
  X(cuCtxSetCurrent)                \
  X(cuCtxGetCurrent)                \
  X(cuCtxSynchronize)               \
  X(cuCtxEnablePeerAccess)          \
  X(cuCtxDisablePeerAccess)         \
  X(cuModuleLoadData)               \
  X(cuModuleGetFunction)            \
  X(cuLaunchKernel)                 \
  X(cuLaunchHostFunc)               \
  X(cuMemAlloc)                     \
  X(cuMemAllocManaged)              \
  X(cuMemFree)                      \
  X(cuMemGetInfo)                   \
  X(cuMemGetAddressRange)           \
  X(cuMemHostAlloc)                 \
  X(cuMemFreeHost)                  \
  X(cuMemcpyDtoH)                   \
  X(cuMemcpyHtoDAsync)              \
  X(cuMemcpyDtoHAsync)              \
  X(cuMemcpyDtoDAsync)              \
  X(cuMemcpyAsync)                  \
  X(cuMemsetD8Async)                \
  X(cuMemAllocAsync)                \
  X(cuMemFreeAsync)                 \
  X(cuMemPoolTrimTo)                \
  X(cuDeviceGetDefaultMemPool)      \
  X(cuMemCreate)                    \
  X(cuMemRelease)                   \
  X(cuMemAddressReserve)            \
  X(cuMemAddressFree)               \
  X(cuMemMap)                       \
  X(cuMemUnmap)                     \
  X(cuMemSetAccess)                 \
  X(cuMemGetAccess)                 \
  X(cuMemRetainAllocationHandle)    \
  X(cuMemExportToShareableHandle)   \
  X(cuMemImportFromShareableHandle) \
  X(cuPointerGetAttribute)          \
  X(cuStreamCreate)                 \
  X(cuStreamDestroy)                \
  X(cuStreamSynchronize)            \
  X(cuStreamWaitEvent)              \
  X(cuStreamWaitValue32)            \
  X(cuStreamBeginCapture)           \
  X(cuStreamEndCapture)             \
  X(cuEventCreate)                  \
  X(cuEventDestroy)                 \
  X(cuEventRecord)                  \
  X(cuEventSynchronize)             \
  X(cuGraphInstantiateWithFlags)    \
  X(cuGraphLaunch)                  \
  X(cuGraphExecDestroy)             \
  X(cuGraphDestroy)

struct Driver {
#define RANDOM_PROGRAMS_MEMBER(name) decltype(&::name) name = nullptr;
  RANDOM_PROGRAMS_CALLS(RANDOM_PROGRAMS_MEMBER)
#undef RANDOM_PROGRAMS_MEMBER
};

// Exits with a line on stderr if the driver or a call is missing.
Driver LoadDriver(Resolve how);

}  // namespace reveza::random_programs
