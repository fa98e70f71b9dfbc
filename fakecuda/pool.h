// Pools of stream-ordered memory. Called under the lock.
#pragma once

#include "state.h"

namespace fakecuda {

CUmemoryPool DefaultPool(State& state, int device);
// Gives back all but `keep` bytes of what is free in the pool.
void TrimPool(StateLock& lock, Pool& pool, std::uint64_t keep);
// What a synchronisation does: all pools give back what is over their threshold.
void TrimPools(StateLock& lock);

}  // namespace fakecuda
