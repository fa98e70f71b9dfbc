// Legacy sharing of cuMemAlloc's own memory between processes.
#include <cstring>

#include "calls.h"
#include "executor.h"
#include "memory.h"

namespace fakecuda {
namespace {

// What a CUipcMemHandle says.
struct SharedMemory {
  std::uint64_t id;      // of the physical memory
  std::uint64_t offset;  // of the allocation in it
  std::uint64_t bytes;
};

}  // namespace

namespace calls {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const Allocation* allocation = FindAllocation(state, pointer);
  if (handle == nullptr || allocation == nullptr || allocation->kind != MemoryKind::kNative) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Mapping* mapping = state.addresses.FindMapping(allocation->start);
  const SharedMemory shared = {mapping->physical->info.id, allocation->start - mapping->start,
                               allocation->bytes};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->reserved, &shared, sizeof shared);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == nullptr || (flags & ~CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  State& state = State::Get();
  SharedMemory shared;
  std::memcpy(&shared, handle.reserved, sizeof shared);
  bool own = false;
  state.addresses.ForEach(0, ~0ull, [&](const Mapping& mapping) {
    own = own || (mapping.physical != nullptr && mapping.physical->info.id == shared.id);
  });
  if (own) return CUDA_ERROR_INVALID_CONTEXT;  // only another process may open it, and once
  AllocationInfo info;
  if (!state.card->Hold(shared.id, &info)) return CUDA_ERROR_INVALID_VALUE;
  auto physical = std::make_shared<Physical>(state.card.get(), info);
  const Reservation* where =
      state.addresses.Reserve(info.bytes, kGranule, 0, MemoryKind::kImported);
  if (where == nullptr || !state.addresses.Map(*where, where->start, std::move(physical))) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Mapping* mapping = state.addresses.FindMapping(where->start);
  mapping->readable = mapping->writable =
      DevicesThatSee(state, info.device) | 1u << current.context->device;
  *pointer = where->start + shared.offset;
  state.allocations[*pointer] = {.start = *pointer,
                                 .bytes = shared.bytes,
                                 .context = current.context,
                                 .device = info.device,
                                 .kind = MemoryKind::kImported,
                                 .buffer_id = state.next_id++};
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const auto found = state.allocations.find(pointer);
  if (found == state.allocations.end() || found->second.kind != MemoryKind::kImported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  WaitForDevice(current.lock, current.context->device);
  const CUdeviceptr start = state.addresses.FindReservation(pointer)->start;
  state.allocations.erase(pointer);
  ReleaseRange(current.lock, start);
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
