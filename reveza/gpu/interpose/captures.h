// Stream captures in progress. A drain, or work of ours on a legacy stream, would invalidate them,
// so the agent checks here first. Whether a capture is still active is queried from the driver
// rather than counted: captures end in more ways than cuStreamEndCapture.
//
// Captures is thread-safe; a RelaxedCapture belongs to the thread that made it.
#pragma once

#include <cuda.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
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
  // `max_begin_delay`: how long a capture waits for calls of RunIfNone(); longer than the driver
  // takes to refuse one.
  explicit Captures(std::chrono::milliseconds max_begin_delay = std::chrono::milliseconds(20))
      : max_begin_delay_(max_begin_delay) {}

  // Begins a capture with `begin` and records it on success. Waits for calls of RunIfNone() that
  // are running, but not for their GPU work: that may wait for this thread.
  template <typename BeginCall>
  CUresult Begin(const CapturedStream& stream, BeginCall begin) {
    MutexLock lock(begin_mutex_);
    AwaitCalls();
    const CUresult result = begin();
    if (result == CUDA_SUCCESS) OnBegin(stream);
    return result;
  }
  // For a call that invalidates captures in every mode, such as a synchronisation, which the driver
  // refuses at its beginning: makes it and returns true if no capture is in progress.
  template <typename Call>
  bool RunIfNone(Call call) {
    {
      MutexLock lock(begin_mutex_);
      while (waiting_begins_ > 0) changed_.Wait(begin_mutex_);
      if (Any()) return false;
      ++running_calls_;
    }
    call();
    const MutexLock lock(begin_mutex_);
    --running_calls_;
    changed_.NotifyAll();
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
  void AwaitCalls() REQUIRES(begin_mutex_);

  const std::chrono::milliseconds max_begin_delay_;
  Mutex begin_mutex_;  // before mutex_; never held by the agent
  CondVar changed_;
  int running_calls_ GUARDED_BY(begin_mutex_) = 0;
  int waiting_begins_ GUARDED_BY(begin_mutex_) = 0;
  Mutex mutex_;
  std::vector<Capture> captures_ GUARDED_BY(mutex_);
  std::atomic<int> count_{0};
};

}  // namespace reveza::interpose
