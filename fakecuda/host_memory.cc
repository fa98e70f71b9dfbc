// Pinned host memory.
#include <sys/mman.h>
#include <unistd.h>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

// Returns whether the whole range is mapped host memory of this process.
bool IsHostMemory(const State& state, const void* pointer, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(pointer) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(pointer) + bytes;
  if (state.addresses.FindReservation(start) != nullptr) return false;
  return msync(reinterpret_cast<void*>(start), end - start, MS_ASYNC) == 0;
}

// Frees an allocation of that kind; returns `unknown` if there is none.
CUresult Free(StateLock& lock, void* pointer, MemoryKind kind, CUresult unknown) {
  State& state = State::Get();
  const auto start = reinterpret_cast<CUdeviceptr>(pointer);
  const auto found = state.allocations.find(start);
  if (found == state.allocations.end() || found->second.kind != kind) return unknown;
  WaitForDevice(lock, found->second.device);
  FreeAllocation(lock, start);
  return CUDA_SUCCESS;
}

}  // namespace

namespace calls {

CUresult cuMemHostAlloc(Current& current, State& state, void** pointer, size_t bytes,
                        unsigned flags) {
  if (pointer == nullptr || bytes == 0 || (flags & ~kAllocFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  const std::size_t mapped = (bytes + 4095) / 4096 * 4096;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  state.addresses.AddHost(memory, bytes, MemoryKind::kHost);
  AddAllocation(current, reinterpret_cast<CUdeviceptr>(memory), bytes, MemoryKind::kHost);
  *pointer = memory;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(Current& current, State& state, void* pointer) {
  if (pointer == nullptr) return CUDA_SUCCESS;
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  return Free(current.lock, pointer, MemoryKind::kHost, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostRegister_v2(Current& current, State& state, void* pointer, size_t bytes,
                              unsigned flags) {
  if (pointer == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  const auto start = reinterpret_cast<CUdeviceptr>(pointer);
  if (!state.addresses.Empty(start, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (!IsHostMemory(state, pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  state.addresses.AddHost(pointer, bytes, MemoryKind::kRegistered);
  AddAllocation(current, start, bytes, MemoryKind::kRegistered);
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(Current& current, State& state, void* pointer) {
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  return Free(current.lock, pointer, MemoryKind::kRegistered,
              CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult cuMemHostGetDevicePointer_v2(Current&, State& state, CUdeviceptr* device, void* pointer,
                                      unsigned flags) {
  if (device == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  const Allocation* found = FindAllocation(state, address);
  if (found == nullptr ||
      (found->kind != MemoryKind::kHost && found->kind != MemoryKind::kRegistered)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *device = address;
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
