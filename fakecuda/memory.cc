#include "memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "calls.h"
#include "executor.h"
#include "graph.h"

namespace fakecuda {
namespace {

constexpr std::uint64_t kSmall = 1 << 20;

std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

// Takes a piece of a shared granule of the context's; 0 when all are full.
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

// True when the granule has nothing left in it.
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

std::uint32_t DevicesThatSee(const State& state, int device) {
  std::uint32_t devices = 1u << device;
  for (const auto& [number, context] : state.contexts.all()) {
    if (context->peers.contains(device)) devices |= 1u << context->device;
  }
  return devices;
}

void RefreshPeerAccess(State& state, int device) {
  const std::uint32_t devices = DevicesThatSee(state, device);
  state.addresses.ForEach(0, ~0ull, [&](Mapping& mapping) {
    if (mapping.physical == nullptr || mapping.physical->info.device != device) return;
    const Reservation* where = state.addresses.FindReservation(mapping.start);
    if (where->kind == MemoryKind::kReserved) return;  // those have cuMemSetAccess
    mapping.readable = mapping.writable = devices;
  });
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
  mapping->readable = mapping->writable = DevicesThatSee(state, device);
  *start = where->start;
  return context.failed;
}

CUresult AllocateNative(StateLock& lock, Context& context, std::uint64_t bytes,
                        CUdeviceptr* start) {
  State& state = State::Get();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > state.card->memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation made{.bytes = bytes, .context = &context, .device = context.device};
  if (bytes >= kSmall) {
    const CUresult result = MakeMemory(lock, context, context.device, RoundUp(bytes, kGranule),
                                       MemoryKind::kNative, &made.start);
    if (result != CUDA_SUCCESS) return result;
  } else {
    const std::uint64_t piece = RoundUp(bytes, kAlignment);
    made.start = TakeFromSlab(state, context, piece);
    if (made.start == 0) {
      CUdeviceptr slab = 0;
      const CUresult result =
          MakeMemory(lock, context, context.device, kGranule, MemoryKind::kNative, &slab);
      if (result != CUDA_SUCCESS) return result;
      state.slabs[slab] = {context.device, &context, {{0, kGranule}}};
      made.start = TakeFromSlab(state, context, piece);
    }
    made.slab = SlabOf(state, made.start);
  }
  made.buffer_id = state.next_id++;
  *start = made.start;
  state.allocations[made.start] = made;
  return CUDA_SUCCESS;
}

void ReleaseRange(StateLock& lock, CUdeviceptr start) {
  State& state = State::Get();
  const Reservation* where = state.addresses.FindReservation(start);
  if (where == nullptr) return;
  TakeAway(lock, start, where->bytes);
  std::vector<CUdeviceptr> mapped;
  state.addresses.ForEach(start, where->bytes, [&](const Mapping& mapping) {
    if (mapping.physical != nullptr) mapped.push_back(mapping.start);
  });
  for (const CUdeviceptr mapping : mapped) state.addresses.Unmap(mapping);
  state.addresses.Remove(start);
}

void FreeAllocation(StateLock& lock, CUdeviceptr start) {
  State& state = State::Get();
  const auto found = state.allocations.find(start);
  if (found == state.allocations.end()) return;
  const Allocation gone = found->second;
  state.allocations.erase(found);
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
  auto found = state.allocations.upper_bound(address);
  if (found == state.allocations.begin()) return nullptr;
  --found;
  return address - found->first < found->second.bytes ? &found->second : nullptr;
}

namespace calls {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult unsafe = CheckUnsafeCall(State::Get());
  if (unsafe != CUDA_SUCCESS) return unsafe;
  return AllocateNative(current.lock, *current.context, bytes, pointer);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                            unsigned element) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == nullptr || pitch == nullptr || width == 0 || height == 0 ||
      (element != 4 && element != 8 && element != 16)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult unsafe = CheckUnsafeCall(State::Get());
  if (unsafe != CUDA_SUCCESS) return unsafe;
  *pitch = RoundUp(width, kAlignment);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(*pitch, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  return AllocateNative(current.lock, *current.context, bytes, pointer);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == 0) return CUDA_SUCCESS;
  State& state = State::Get();
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  const auto found = state.allocations.find(pointer);
  if (found == state.allocations.end() || found->second.kind == MemoryKind::kHost ||
      found->second.kind == MemoryKind::kRegistered ||
      found->second.kind == MemoryKind::kImported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  WaitForDevice(current.lock, found->second.device);
  if (current.context->failed != CUDA_SUCCESS) return current.context->failed;
  if (!state.allocations.contains(pointer)) return CUDA_ERROR_INVALID_VALUE;
  FreeAllocation(current.lock, pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  const State& state = State::Get();
  const std::uint64_t used = state.card->Used(current.context->device);
  const std::uint64_t memory = state.card->memory();
  if (total != nullptr) *total = memory;
  if (free != nullptr) *free = memory - std::min<std::uint64_t>(memory, used);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned flags) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (pointer == nullptr || bytes == 0 ||
      (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  State& state = State::Get();
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  void* memory = mmap(nullptr, RoundUp(bytes, 4096), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  state.addresses.AddHost(memory, bytes, MemoryKind::kManaged);
  state.allocations[*pointer] = {.start = *pointer,
                                 .bytes = bytes,
                                 .context = current.context,
                                 .device = current.context->device,
                                 .kind = MemoryKind::kManaged,
                                 .flags = flags,
                                 .buffer_id = state.next_id++};
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
