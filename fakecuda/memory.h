// Allocations, for all the calls that make and free them. Everything is called under the lock.
#pragma once

#include <cuda.h>

#include "state.h"

namespace fakecuda {

inline constexpr std::uint64_t kAlignment = 512;

// Makes memory of the card in a range of its own. Lets go of the lock while it is filled.
CUresult MakeMemory(StateLock& lock, Context& context, int device, std::uint64_t bytes,
                    MemoryKind kind, CUdeviceptr* start);
// As cuMemAlloc: the small ones share granules.
CUresult AllocateNative(StateLock& lock, Context& context, std::uint64_t bytes, CUdeviceptr* start);
// Gives the memory of a range back, after the work that uses it is gone.
void ReleaseRange(StateLock& lock, CUdeviceptr start);
// Takes an allocation of any kind out of the books and gives its memory back.
void FreeAllocation(StateLock& lock, CUdeviceptr start);
// The allocation that the address is in.
Allocation* FindAllocation(State& state, CUdeviceptr address);
// Which devices see native memory of `device`: itself and those with peer access to it.
std::uint32_t DevicesThatSee(const State& state, int device);
// Peer access has changed.
void RefreshPeerAccess(State& state, int device);

}  // namespace fakecuda
