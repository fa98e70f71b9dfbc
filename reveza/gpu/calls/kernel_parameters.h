// The sizes of kernels' parameter buffers, and where each parameter lies in them, as the driver
// reports it (since CUDA 12.4). Thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace reveza::calls {

// Writes the parameters of a launch to `buffer` (kMaxLaunchBytes). Returns their size; 0 if there
// are none, or the driver does not report where they are.
std::size_t CopyKernelParameters(CUfunction function, void* const* parameters, void* const* extra,
                                 unsigned char* buffer);

// Notes that `kernel` is a CUkernel, which a program may pass as a function.
void NoteKernel(CUkernel kernel);

// Forgets what is known of functions: their handles may be reused.
void ForgetFunctions();

}  // namespace reveza::calls
