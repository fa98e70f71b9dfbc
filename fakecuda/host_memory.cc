// Pinned host memory.
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "executor.h"
#include "graph.h"
#include "memory.h"

namespace fakecuda {
namespace {

constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

CUresult AllocateHost(void** pointer, std::size_t bytes, unsigned flags) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == nullptr || bytes == 0 || (flags & ~kAllocFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  State& state = State::Get();
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  const std::size_t mapped = (bytes + 4095) / 4096 * 4096;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto start = reinterpret_cast<CUdeviceptr>(memory);
  state.addresses.AddHost(memory, bytes, MemoryKind::kHost);
  state.allocations[start] = {.start = start,
                              .bytes = bytes,
                              .context = current.context,
                              .device = current.context->device,
                              .kind = MemoryKind::kHost,
                              .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP,
                              .buffer_id = state.next_id++};
  *pointer = memory;
  return CUDA_SUCCESS;
}

// Is all of the range mapped in this process, and not a range of device addresses?
bool IsHostMemory(const State& state, const void* pointer, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(pointer) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(pointer) + bytes;
  if (state.addresses.FindReservation(start) != nullptr) return false;
  return msync(reinterpret_cast<void*>(start), end - start, MS_ASYNC) == 0;
}

}  // namespace

namespace calls {

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return AllocateHost(pointer, bytes, flags);
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) { return AllocateHost(pointer, bytes, 0); }

CUresult cuMemFreeHost(void* pointer) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == nullptr) return CUDA_SUCCESS;
  State& state = State::Get();
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  const auto start = reinterpret_cast<CUdeviceptr>(pointer);
  const auto found = state.allocations.find(start);
  if (found == state.allocations.end() || found->second.kind != MemoryKind::kHost) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  WaitForDevice(current.lock, found->second.device);
  FreeAllocation(current.lock, start);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  State& state = State::Get();
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  const auto start = reinterpret_cast<CUdeviceptr>(pointer);
  if (!state.addresses.Empty(start, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (!IsHostMemory(state, pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  state.addresses.AddHost(pointer, bytes, MemoryKind::kRegistered);
  state.allocations[start] = {.start = start,
                              .bytes = bytes,
                              .context = current.context,
                              .device = current.context->device,
                              .kind = MemoryKind::kRegistered,
                              .flags = flags,
                              .buffer_id = state.next_id++};
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void* pointer) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  const auto start = reinterpret_cast<CUdeviceptr>(pointer);
  const auto found = state.allocations.find(start);
  if (found == state.allocations.end() || found->second.kind != MemoryKind::kRegistered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  WaitForDevice(current.lock, found->second.device);
  FreeAllocation(current.lock, start);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* pointer, unsigned flags) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (device == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  const Allocation* found = FindAllocation(State::Get(), address);
  if (found == nullptr ||
      (found->kind != MemoryKind::kHost && found->kind != MemoryKind::kRegistered)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *device = address;
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  const Allocation* found = FindAllocation(State::Get(), reinterpret_cast<CUdeviceptr>(pointer));
  if (flags == nullptr || found == nullptr || found->kind != MemoryKind::kHost) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *flags = found->flags;
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
