// Bounds the GPU work that a thread queues under contention, so that a drain takes at most
// Welcome::queue_bound_us.
//
// Per thread and stream, an event is recorded after every window of submissions; with two events
// outstanding the thread waits for the older one. The GPU still has the younger batch queued and
// does not starve. The window adapts to the number of submissions that take half the bound. Without
// contention none of this code runs.
//
// All state is per thread, except for the bound, which the agent sets.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "reveza/gpu/interpose/gate.h"

namespace reveza::interpose {

class QueueBound {
 public:
  static void SetBound(std::int64_t microseconds);
  // Returns whether two batches of this stream are outstanding.
  static bool MustWait(CUstream stream, StreamKind kind);
  // Waits for the older batch. The thread must not be inside the gate.
  static void Wait(CUstream stream, StreamKind kind);
  // Counts a submission that was just made; the thread is inside the gate.
  static void OnSubmit(CUstream stream, StreamKind kind);
};

// Adaptive window size, independent of CUDA.
class Window {
 public:
  int size() const { return size_; }
  // Adapts to a batch of size() submissions that took `batch_us`. `waited`: the thread had to wait
  // for it, so that `batch_us` is its true duration.
  void OnBatchDone(std::int64_t batch_us, std::int64_t bound_us, bool waited);

 private:
  static constexpr int kInitialSize = 32;
  static constexpr int kMaxSize = 8192;
  int size_ = kInitialSize;
};

}  // namespace reveza::interpose
