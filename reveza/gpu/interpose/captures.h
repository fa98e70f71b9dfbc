// Stream captures in progress. A drain, or work of ours on a legacy stream, would invalidate them,
// so the agent checks here first. Whether a capture is still active is queried from the driver
// rather than counted: captures end in more ways than cuStreamEndCapture.
//
// Captures is thread-safe; a RelaxedCapture belongs to the thread that made it.
#pragma once

#include <cuda.h>
#include <pthread.h>

#include <atomic>
#include <vector>

#include "common/base/mutex.h"

namespace reveza::interpose {

// Puts the calling thread into relaxed capture mode for its lifetime, so that its calls do not
// invalidate captures of other threads. A capture in the global mode (the default) is invalidated
// by "potentially unsafe" calls of any thread, such as pinning memory or querying an event; calls
// that the program did not make itself must not do that.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode before_;
};

// The stream of a capture.
struct CapturedStream {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  bool per_thread = false;  // the context's stream of the calling thread
  bool cig = false;         // captured for a graphics API
};

class Captures {
 public:
  // Begins a capture with `begin` and records it on success. Blocks while RunIfNone() is running.
  template <typename BeginCall>
  CUresult Begin(const CapturedStream& stream, BeginCall begin) {
    MutexLock lock(begin_mutex_);
    const CUresult result = begin();
    if (result == CUDA_SUCCESS) OnBegin(stream);
    return result;
  }
  // For operations that invalidate captures in every mode: runs `work` and returns true if no
  // capture is in progress; none can begin meanwhile.
  template <typename Work>
  bool RunIfNone(Work work) {
    MutexLock lock(begin_mutex_);
    if (Any()) return false;
    work();
    return true;
  }
  // Records that a capture began. The per-thread stream differs per thread and can only be queried
  // by its own thread, and a capture for a graphics API cannot be queried at all, so these count
  // until OnEnd().
  void OnBegin(const CapturedStream& stream);
  // Records a call of cuStreamEndCapture that ended the capture, whatever its result, or that the
  // stream is about to be destroyed.
  void OnEnd(const CapturedStream& stream);
  // Records that a context was destroyed, with its streams.
  void OnContextDestroy(CUcontext context);
  // Returns whether any capture is recorded. Cheap.
  bool Any() const { return count_.load(std::memory_order_acquire) > 0; }
  // Queries the driver for each recorded capture and removes those that have ended. Returns whether
  // any remain.
  bool InProgress(CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*));

 private:
  struct Capture {
    CapturedStream stream;
    pthread_t thread;
  };
  template <typename Condition>
  void RemoveIf(Condition condition) REQUIRES(mutex_);
  Mutex begin_mutex_;  // before mutex_; never held by the agent
  Mutex mutex_;
  std::vector<Capture> captures_ GUARDED_BY(mutex_);
  std::atomic<int> count_{0};
};

}  // namespace reveza::interpose
