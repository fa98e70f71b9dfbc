#include "fakecuda/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

constexpr std::uint64_t kMaxSlabAllocation = 1 << 20;

// Allocates from a shared granule of the context; 0 if all are full.
CUdeviceptr TakeFromSlab(State& state, const Context& context, std::uint64_t bytes) {
  for (auto& [start, slab] : state.slabs) {
    if (slab.context != &context) continue;
    for (auto free = slab.free.begin(); free != slab.free.end(); ++free) {
      const auto [offset, room] = *free;
      if (room < bytes) continue;
      slab.free.erase(free);
      if (room > bytes) slab.free[offset + bytes] = room - bytes;
      return start + offset;
    }
  }
  return 0;
}

// Returns whether the granule is empty afterwards.
bool ReturnToSlab(State::Slab& slab, std::uint64_t offset, std::uint64_t bytes) {
  auto after = slab.free.lower_bound(offset);
  if (after != slab.free.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = slab.free.erase(after);
  }
  if (after != slab.free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      slab.free.erase(before);
    }
  }
  slab.free[offset] = bytes;
  return bytes == kGranule;
}

CUdeviceptr SlabOf(const State& state, CUdeviceptr address) {
  auto found = state.slabs.upper_bound(address);
  return found == state.slabs.begin() ? 0 : std::prev(found)->first;
}

}  // namespace

std::uint32_t DevicesWithAccess(const State& state, int device) {
  std::uint32_t devices = 1u << device;
  for (const auto& [number, context] : state.contexts.all()) {
    if (context->peers.contains(device)) devices |= 1u << context->device;
  }
  return devices;
}

void RefreshPeerAccess(State& state, int device) {
  const std::uint32_t devices = DevicesWithAccess(state, device);
  state.addresses.ForEach(0, ~0ull, [&](Mapping& mapping) {
    if (mapping.physical == nullptr || mapping.physical->info.device != device) return;
    const Reservation* where = state.addresses.FindReservation(mapping.start);
    if (where->kind == MemoryKind::kReserved) return;  // controlled by cuMemSetAccess
    mapping.readable = mapping.writable = devices;
  });
}

Allocation& AddAllocation(Current& current, CUdeviceptr start, std::uint64_t bytes,
                          MemoryKind kind) {
  State& state = State::Get();
  return state.allocations[start] = {.start = start,
                                     .bytes = bytes,
                                     .context = current.context,
                                     .device = current.context->device,
                                     .kind = kind,
                                     .buffer_id = state.next_id++};
}

CUresult MakeMemory(StateLock& lock, Context& context, int device, std::uint64_t bytes,
                    MemoryKind kind, CUdeviceptr* start) {
  State& state = State::Get();
  AllocationInfo info;
  lock.unlock();
  const bool good = state.card->Allocate(device, bytes, 0, &info);
  lock.lock();
  if (!good) return CUDA_ERROR_OUT_OF_MEMORY;
  auto physical = std::make_shared<Physical>(state.card.get(), info);
  const Reservation* where = state.addresses.Reserve(bytes, kGranule, 0, kind);
  if (where == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!state.addresses.Map(*where, where->start, std::move(physical))) {
    state.addresses.Remove(where->start);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Mapping* mapping = state.addresses.FindMapping(where->start);
  mapping->readable = mapping->writable = DevicesWithAccess(state, device);
  *start = where->start;
  return context.failed;
}

void ReleaseRange(StateLock& lock, CUdeviceptr start) {
  State& state = State::Get();
  const Reservation* where = state.addresses.FindReservation(start);
  if (where == nullptr) return;
  RevokeRange(lock, start, where->bytes);
  state.addresses.UnmapAll(start, where->bytes);
  state.addresses.Remove(start);
}

void FreeAllocation(StateLock& lock, CUdeviceptr start) {
  State& state = State::Get();
  const auto found = state.allocations.find(start);
  if (found == state.allocations.end()) return;
  const Allocation gone = found->second;
  state.allocations.erase(found);
  ReleaseManaged(*state.card, gone);
  if (const auto pool = state.pools.Find(gone.pool)) pool->reserved -= RoundUp(gone.bytes);
  if (gone.slab != 0) {
    const std::uint64_t bytes = RoundUp(gone.bytes, kAlignment);
    if (!ReturnToSlab(state.slabs[gone.slab], start - gone.slab, bytes)) return;
    state.slabs.erase(gone.slab);
    start = gone.slab;
  }
  ReleaseRange(lock, start);
  if (gone.kind == MemoryKind::kHost || gone.kind == MemoryKind::kManaged) {
    munmap(reinterpret_cast<void*>(gone.start), RoundUp(gone.bytes, 4096));
  }
}

Allocation* FindAllocation(State& state, CUdeviceptr address) {
  return FindContaining(state.allocations, address);
}

namespace {

// Allocates like cuMemAlloc: small allocations share granules.
CUresult AllocateNative(Current& current, std::uint64_t bytes, CUdeviceptr* start) {
  State& state = State::Get();
  Context& context = *current.context;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > state.card->memory(current.context->device)) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto make = [&](std::uint64_t size, CUdeviceptr* made) {
    return MakeMemory(current.lock, context, context.device, size, MemoryKind::kNative, made);
  };
  CUdeviceptr slab = 0;
  if (bytes >= kMaxSlabAllocation) {
    RETURN_IF_ERROR(make(RoundUp(bytes), start));
  } else {
    const std::uint64_t piece = RoundUp(bytes, kAlignment);
    *start = TakeFromSlab(state, context, piece);
    if (*start == 0) {
      RETURN_IF_ERROR(make(kGranule, &slab));
      state.slabs[slab] = {context.device, &context, {{0, kGranule}}};
      *start = TakeFromSlab(state, context, piece);
    }
    slab = SlabOf(state, *start);
  }
  AddAllocation(current, *start, bytes, MemoryKind::kNative).slab = slab;
  return CUDA_SUCCESS;
}

// Contents of a CUipcMemHandle.
struct SharedMemory {
  std::uint64_t id;      // of the physical memory
  std::uint64_t offset;  // of the allocation within it
  std::uint64_t bytes;
};

}  // namespace

namespace calls {

CUresult cuMemAlloc_v2(Current& current, State& state, CUdeviceptr* pointer, size_t bytes) {
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AllocateNative(current, bytes, pointer);
}

CUresult cuMemAllocPitch_v2(Current& current, State& state, CUdeviceptr* pointer, size_t* pitch,
                            size_t width, size_t height, unsigned element) {
  if (pointer == nullptr || pitch == nullptr || width == 0 || height == 0 ||
      (element != 4 && element != 8 && element != 16)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  *pitch = RoundUp(width, kAlignment);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(*pitch, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  return AllocateNative(current, bytes, pointer);
}

// Needs no current context, but fails with one that was destroyed, also for null (as on an H200).
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  State& state = State::Get();
  Current current = EnterContext();
  if (!current.ok() && current.result != CUDA_ERROR_INVALID_CONTEXT) return current.result;
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  if (pointer == 0) return CUDA_SUCCESS;
  const auto found = state.allocations.find(pointer);
  if (found == state.allocations.end() || found->second.kind == MemoryKind::kHost ||
      found->second.kind == MemoryKind::kRegistered ||
      found->second.kind == MemoryKind::kImported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint32_t users = DevicesWithAccess(state, found->second.device);
  for (int device = 0; device < kMaxDevices; ++device) {
    if ((users >> device & 1) != 0) WaitForDevice(current.lock, device);
  }
  if (current.context != nullptr) RETURN_IF_ERROR(current.context->failed);
  if (!state.allocations.contains(pointer)) return CUDA_ERROR_INVALID_VALUE;
  FreeAllocation(current.lock, pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(Current& current, State& state, size_t* free, size_t* total) {
  const std::uint64_t used = state.card->Used(current.context->device);
  const std::uint64_t memory = state.card->memory(current.context->device);
  if (total != nullptr) *total = memory;
  if (free != nullptr) *free = memory - std::min<std::uint64_t>(memory, used);
  return CUDA_SUCCESS;
}

// Legacy sharing of cuMemAlloc memory with other processes.
CUresult cuIpcGetMemHandle(Current&, State& state, CUipcMemHandle* handle, CUdeviceptr pointer) {
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

CUresult cuIpcOpenMemHandle_v2(Current& current, State& state, CUdeviceptr* pointer,
                               CUipcMemHandle handle, unsigned flags) {
  if (pointer == nullptr || (flags & ~CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  SharedMemory shared;
  std::memcpy(&shared, handle.reserved, sizeof shared);
  bool own = false;
  state.addresses.ForEach(0, ~0ull, [&](const Mapping& mapping) {
    own = own || (mapping.physical != nullptr && mapping.physical->info.id == shared.id);
  });
  if (own) return CUDA_ERROR_INVALID_CONTEXT;  // may be opened only by another process, once
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
      DevicesWithAccess(state, info.device) | 1u << current.context->device;
  *pointer = where->start + shared.offset;
  AddAllocation(current, *pointer, shared.bytes, MemoryKind::kImported).device = info.device;
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(Current& current, State& state, CUdeviceptr pointer) {
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
