// Bounds the GPU work that a thread queues under contention, so that a drain takes at most
// Welcome::queue_bound_us.
//
// Per thread and stream, an event is recorded after every window of submissions; with two events
// outstanding the thread waits for the older one. The GPU still has the younger batch queued and
// does not starve. The window adapts to the number of submissions that take half the bound. Without
// contention none of this code runs.
//
// A batch that waits for something which the thread itself does later never ends. So the wait has a
// limit; a stream that exceeds it repeatedly is not bounded any more.
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
  // Waits for the older batch, while the gate is bounded. The thread must not be inside it.
  static void Wait(CUstream stream, StreamKind kind);
  // Counts a submission that was just made; the thread is inside the gate.
  static void OnSubmit(CUstream stream, StreamKind kind);
};

// How long to wait for a batch, independent of CUDA. Four waits in vain, each a quarter as long as
// the one before, exhaust it.
class Patience {
 public:
  // `host`: a stream is known to wait for the host.
  std::int64_t LimitUs(std::int64_t bound_us, bool host) const {
    return (host ? 10 : 100) * bound_us >> 2 * expired_;
  }
  bool exhausted() const { return expired_ == kMaxExpired; }
  void OnExpired() { ++expired_; }
  // The batch ended while the thread waited.
  void OnDone() { expired_ = expired_ > 0 ? expired_ - 1 : 0; }

 private:
  static constexpr int kMaxExpired = 4;
  int expired_ = 0;
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
