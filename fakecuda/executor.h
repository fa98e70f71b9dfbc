// Executes the work of all streams: in stream order, and in random order where CUDA guarantees
// none. Kernels, copies in each direction and host functions have separate threads.
#pragma once

#include <cuda.h>

#include "fakecuda/state.h"

namespace fakecuda {

// Maximum queued work of a stream; Submit() blocks beyond it.
inline constexpr std::size_t kMaxQueueLength = 1024;

// Call all of these under the lock of State; they may release it while waiting.

// Appends work to the stream.
CUresult Submit(StateLock& lock, Stream& stream, Work work);
// Wait until all work submitted so far is done. Return the sticky error of the context.
CUresult WaitForStream(StateLock& lock, Stream& stream);
CUresult WaitForContext(StateLock& lock, Context& context);
// Waits for all contexts of a device.
void WaitForDevice(StateLock& lock, int device);
// Returns whether the stream has no work left.
bool Idle(const Stream& stream);

// Waits until `condition()`, evaluated after each work item and periodically.
void WaitUntil(StateLock& lock, const std::function<bool()>& condition);

// Sets the sticky error of the context; the remaining work of its streams is dropped.
void Fail(Context& context, CUresult result);

// Aborts executions that use the range and waits for them. Revoking memory in use is a program
// error: their contexts fail with CUDA_ERROR_ILLEGAL_ADDRESS.
void RevokeRange(StateLock& lock, CUdeviceptr start, std::uint64_t bytes);

}  // namespace fakecuda
