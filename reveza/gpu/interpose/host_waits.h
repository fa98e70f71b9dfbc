// Work that keeps a stream waiting for the host: values that it writes (cuStreamWaitValue32),
// semaphores that another API signals, host functions. A drain cannot complete before the host has
// acted, and it may have to submit more work before that. So a drain first holds back further
// waits, and only those, until the earlier ones are over.
//
// After each such call an event is recorded in its stream. A wait in a graph is unknown.
// Thread-safe.
#pragma once

#include <cuda.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/base/mutex.h"
#include "reveza/gpu/swap/driver.h"

namespace reveza::interpose {

class HostWaits {
 public:
  // kFunction: ends by itself, unless the function waits for something.
  enum class Kind { kValue, kFunction };

  explicit HostWaits(const swap::Driver& driver) : driver_(driver) {}

  // A call that submits a wait. Blocks at construction while waits are held back; the thread must
  // not be inside the gate.
  class Submission {
   public:
    explicit Submission(HostWaits& waits);
    ~Submission();
    Submission(const Submission&) = delete;
    Submission& operator=(const Submission&) = delete;

   private:
    HostWaits& waits_;
  };

  // Holds back further waits for its lifetime.
  class Hold {
   public:
    explicit Hold(HostWaits& waits);
    ~Hold();
    // Blocks until the earlier waits are over. Returns whether they were before `until_us`.
    bool Await(std::int64_t until_us);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    HostWaits& waits_;
  };

  // Records a wait that was just submitted to `stream` of the current context.
  void Record(CUstream stream, bool per_thread, Kind kind);
  // Returns whether a wait of this kind is not over, in another context than `except`.
  bool Pending(Kind kind, CUcontext except = nullptr);
  bool held();

  // Call before the object is destroyed.
  void OnStreamDestroy(CUstream stream);
  void OnContextDestroy(CUcontext context);

 private:
  // Of the last wait of this kind in a stream.
  struct Wait {
    Kind kind;
    CUcontext context;
    CUstream stream;  // null: destroyed, or the legacy stream
    bool per_thread;  // the stream is that of `thread`
    bool destroyed;   // the stream
    pthread_t thread;
    CUevent over;
    bool pending;
  };
  Wait* Find(const Wait& like) REQUIRES(mutex_);

  const swap::Driver& driver_;
  Mutex mutex_;
  CondVar changed_;
  bool held_ GUARDED_BY(mutex_) = false;
  int submitting_ GUARDED_BY(mutex_) = 0;
  std::vector<Wait> waits_ GUARDED_BY(mutex_);
  std::atomic<bool> any_{false};  // waits_ is not empty
};

}  // namespace reveza::interpose
