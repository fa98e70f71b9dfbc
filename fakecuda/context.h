// Making and destroying contexts, for made and primary ones. Called under the lock.
#pragma once

#include <cuda.h>

#include "state.h"

namespace fakecuda {

CUresult MakeContext(State& state, CUdevice device, unsigned flags, std::shared_ptr<Context>* made);
// Waits for its work and frees what cuMemAlloc gave in it, but not what cuMemCreate gave.
void DestroyContext(StateLock& lock, const std::shared_ptr<Context>& context);

}  // namespace fakecuda
