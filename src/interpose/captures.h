// Stream captures in progress. A drain, or any work of ours on a legacy stream, would invalidate
// one, so the agent asks here first. Whether a capture still goes on is asked of the driver, not
// counted: captures end in more ways than cuStreamEndCapture.
//
// Thread-safety: all methods from any thread; RelaxedCapture stays in its thread.
#pragma once

#include <cuda.h>
#include <pthread.h>

#include <atomic>
#include <vector>

#include "swap/sync.h"

namespace reveza::interpose {

// While it lives, calls of this thread do not invalidate a capture of another one. A capture in the
// global mode, which is the default, is ended by whatever another thread does that the driver calls
// potentially unsafe, like pinning memory or asking for an event. What the program did not call
// itself must not do that, so our own threads and calls are relaxed.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode before_;
};

class Captures {
 public:
  // Begins a capture with `begin`, and remembers it. Waits while WhileNone is at work.
  template <typename BeginCall>
  CUresult Begin(CUstream stream, bool per_thread, BeginCall begin) {
    swap::MutexLock lock(begin_mutex_);
    const CUresult result = begin();
    if (result == CUDA_SUCCESS) Began(stream, per_thread);
    return result;
  }
  // For what would invalidate any capture, in whatever mode: does `work` and returns true if there
  // is none, and lets none begin meanwhile.
  template <typename Work>
  bool WhileNone(Work work) {
    swap::MutexLock lock(begin_mutex_);
    if (Any()) return false;
    work();
    return true;
  }
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
  swap::Mutex begin_mutex_;  // before mutex_; never held by the agent
  mutable swap::Mutex mutex_;
  std::vector<Capture> captures_;
  std::atomic<int> count_{0};
};

}  // namespace reveza::interpose
