// A launch as work of the card. Called under the lock.
#pragma once

#include <cuda.h>

#include "graph.h"

namespace fakecuda {

// Copies the values of the kernel's parameters.
CUresult MakeLaunch(State& state, Context& context, CUfunction function,
                    const CUDA_KERNEL_NODE_PARAMS& parameters, Operation* operation);

}  // namespace fakecuda
