// Stream captures in progress. A drain, or any work of ours on a legacy stream, would invalidate
// one, so the agent asks here first. Whether a capture still goes on is asked of the driver, not
// counted: captures end in more ways than cuStreamEndCapture.
//
// Thread-safety: all methods from any thread.
#pragma once

#include <cuda.h>
#include <pthread.h>

#include <atomic>
#include <vector>

#include "swap/sync.h"

namespace reveza::interpose {

class Captures {
 public:
  // A capture began on `stream`. The per-thread stream is a different one in each thread and can
  // only be asked about there, so it counts until Ended.
  void Began(CUstream stream, bool per_thread);
  // cuStreamEndCapture was called on it (with any result).
  void Ended(CUstream stream, bool per_thread);
  // The handle is about to become invalid.
  void Destroyed(CUstream stream);
  // Cheap: false means certainly none.
  bool Any() const { return count_.load(std::memory_order_acquire) > 0; }
  // Asks the driver about each, and forgets those that have ended.
  bool InProgress(CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*));

 private:
  struct Capture {
    CUstream stream;
    bool per_thread;
    pthread_t thread;
  };
  mutable swap::Mutex mutex_;
  std::vector<Capture> captures_;
  std::atomic<int> count_{0};
};

}  // namespace reveza::interpose
