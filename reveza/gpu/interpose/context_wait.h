// Waits with a limit for the work of a context, on drivers before CUDA 12.5. Their only call that
// covers all streams, cuCtxSynchronize, has no limit: it runs on a thread of its own, which goes on
// when the wait is given up.
//
// The object must outlive the process's use of the driver; Await() is called by one thread.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/base/mutex.h"
#include "reveza/gpu/interpose/captures.h"
#include "reveza/gpu/interpose/contexts.h"
#include "reveza/gpu/swap/driver.h"

namespace reveza::interpose {

class ContextWait {
 public:
  ContextWait(const swap::Driver& driver, Contexts& contexts, Captures& captures)
      : driver_(driver), contexts_(contexts), captures_(captures) {}

  // Returns whether all work that was submitted to the context is over; false at the time
  // `until_us`, if a capture prevents the answer, or if another thread is ending the context.
  bool Await(CUcontext context, std::int64_t until_us);

 private:
  struct Wait;
  static void* Main(void* wait);
  bool AwaitEnd(std::int64_t until_us) REQUIRES(mutex_);

  const swap::Driver& driver_;
  Contexts& contexts_;
  Captures& captures_;

  Mutex mutex_;
  CondVar ended_;
  bool running_ GUARDED_BY(mutex_) = false;
  bool synchronised_ GUARDED_BY(mutex_) = false;  // by the last thread
};

}  // namespace reveza::interpose
