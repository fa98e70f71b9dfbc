// Runs the work of all streams: in the order of each stream, and in random order where CUDA
// promises none. Kernels, copies each way and host functions have threads of their own.
#pragma once

#include <cuda.h>

#include "state.h"

namespace fakecuda {

// How much one stream takes before who submits has to wait.
inline constexpr std::size_t kQueueLength = 1024;

// All of these are called under the lock, and may let go of it while they wait.

// Puts the work at the end of the stream.
CUresult Submit(StateLock& lock, Stream& stream, Work work);
// Wait until what was submitted so far is done. They answer the context's failure.
CUresult WaitForStream(StateLock& lock, Stream& stream);
CUresult WaitForContext(StateLock& lock, Context& context);
// All contexts of a device.
void WaitForDevice(StateLock& lock, int device);
// Is there nothing left to do?
bool Idle(const Stream& stream);

// Waits until `condition()`, which is looked at after each piece of work, and now and then.
void WaitUntil(StateLock& lock, const std::function<bool()>& condition);

// The context has failed: what is left in its streams is dropped.
void Fail(Context& context, CUresult result);

// Aborts what uses the range and waits until it does not. That is a mistake of the program: the
// contexts of what was aborted have failed with an illegal address.
void TakeAway(StateLock& lock, CUdeviceptr start, std::uint64_t bytes);

}  // namespace fakecuda
