// Keeps a thread from running far ahead of the GPU while somebody waits for it, so that a drain
// takes at most a set time (Welcome::queue_bound_us).
//
// Per thread and stream: after every `window` submissions an event is recorded; with two such
// events outstanding the thread waits for the older. The GPU always has the younger batch to work
// on, so it never starves. The window is the number of submissions that take half the bound,
// found from how long batches take. Only under contention: alone, no call comes here.
//
// Thread-safety: each thread has its own windows; SetBound from the agent.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "interpose/gate.h"

namespace reveza::interpose {

class QueueBound {
 public:
  static void SetBound(std::int64_t microseconds);
  // Two batches of this stream are outstanding.
  static bool MustWait(CUstream stream, StreamKind kind);
  // Waits for the older one. The thread must not be inside the gate.
  static void Wait(CUstream stream, StreamKind kind);
  // Counts a submission that was just made (the thread is inside the gate).
  static void Submitted(CUstream stream, StreamKind kind);
};

// The arithmetic of the window, apart from CUDA.
class Window {
 public:
  int size() const { return size_; }
  // A batch of `size()` submissions took `batch_us`; it was waited for or not.
  void BatchTook(std::int64_t batch_us, std::int64_t limit_us, bool waited);

 private:
  static constexpr int kFirst = 32;
  static constexpr int kMost = 8192;
  int size_ = kFirst;
};

}  // namespace reveza::interpose
