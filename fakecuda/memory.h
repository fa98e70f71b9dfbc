// Allocation and release, for all allocating entries; copies. Call under the lock of State.
#pragma once

#include <cuda.h>

#include "fakecuda/state.h"

namespace fakecuda {

inline constexpr std::uint64_t kAlignment = 512;

// Allocates device memory in its own range. Releases the lock while the memory is filled.
CUresult MakeMemory(StateLock& lock, Context& context, int device, std::uint64_t bytes,
                    MemoryKind kind, CUdeviceptr* start);
// Registers an allocation of the current context.
Allocation& AddAllocation(Current& current, CUdeviceptr start, std::uint64_t bytes,
                          MemoryKind kind);
// Releases the memory of a range after aborting the work that uses it.
void ReleaseRange(StateLock& lock, CUdeviceptr start);
// Unregisters an allocation of any kind and releases its memory.
void FreeAllocation(StateLock& lock, CUdeviceptr start);
// Trims all pools to their release threshold, as at a synchronisation.
void TrimPools(StateLock& lock);
// Returns the allocation that contains the address.
Allocation* FindAllocation(State& state, CUdeviceptr address);
// Returns the devices that can access native memory of `device`: itself and its peers.
std::uint32_t DevicesWithAccess(const State& state, int device);
// Brings pages of managed memory to a device that is about to use them, as far as it has room.
void TouchManaged(State& state, int device, CUdeviceptr start, std::uint64_t bytes);
// Takes what is left of a managed allocation off the devices.
void ReleaseManaged(Card& card, const Allocation& gone);
// Updates mappings after a change of peer access.
void RefreshPeerAccess(State& state, int device);

// A pitched region: rows of `width` bytes, `height` rows `pitch` apart, `depth` layers `layer`
// apart.
struct Box {
  CUdeviceptr start = 0;
  std::uint64_t pitch = 0, layer = 0;
};

struct Transfer {
  Box to, from;
  std::uint64_t width = 0, height = 1, depth = 1;

  std::uint64_t Extent(const Box& box) const {
    return (depth - 1) * box.layer + (height - 1) * box.pitch + width;
  }
  std::uint64_t bytes() const { return width * height * depth; }
};

inline Transfer Linear(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes) {
  return {.to = {to, bytes, bytes}, .from = {from, bytes, bytes}, .width = bytes};
}
inline CUdeviceptr AsAddress(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Kind of memory that a pointer refers to.
enum class PointerKind { kDevice, kPinned, kPageable, kUnknown };
// Returns kUnknown if `must_be_device` and the address is unknown to the driver.
PointerKind ClassifyPointer(const State& state, CUdeviceptr address, bool must_be_device);

enum class Wait { kNo, kYes };
// Returns whether a copy of the current device may use the memory. What is mapped, unlike memory of
// cuMemAlloc, must be accessible to the device, or the driver refuses the call. For fills all must
// be.
bool MayCopy(const Current& current, CUdeviceptr address);
// Issues the copy to the stream, following the rules for pinned and pageable memory.
CUresult IssueCopy(Current& current, CUstream stream, const Transfer& transfer, Wait wait);

}  // namespace fakecuda
