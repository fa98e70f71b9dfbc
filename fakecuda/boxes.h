// Boxes of bytes in memory and in arrays. Called under the lock.
#pragma once

#include "state.h"
#include "transfer.h"

namespace fakecuda {

std::size_t ArrayPitch(const Array& array);
std::size_t ArrayBytes(const Array& array);
CUresult MakeTransfer(const State& state, const CUDA_MEMCPY3D& copy, Transfer* transfer);

}  // namespace fakecuda
