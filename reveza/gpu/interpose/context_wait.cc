#include "reveza/gpu/interpose/context_wait.h"

#include <pthread.h>

#include <utility>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {

struct ContextWait::Wait {
  ContextWait& owner;
  Contexts::Held held;
};

bool ContextWait::AwaitEnd(std::int64_t until_us) {
  while (running_) {
    const std::int64_t left = until_us - NowMicroseconds();
    if (left <= 0) return false;
    ended_.WaitFor(mutex_, std::chrono::microseconds(left));
  }
  return true;
}

bool ContextWait::Await(CUcontext context, std::int64_t until_us) {
  MutexLock lock(mutex_);
  // A wait that was given up does not cover what was submitted since.
  if (!AwaitEnd(until_us)) return false;
  Contexts::Held held = contexts_.HoldOne(context);
  if (held.contexts().empty()) return false;
  auto* wait = new Wait{*this, std::move(held)};
  running_ = true;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Main, wait) != 0) {
    running_ = false;
    delete wait;
    return false;
  }
  pthread_detach(thread);
  return AwaitEnd(until_us) && synchronised_;
}

void* ContextWait::Main(void* argument) {
  auto* wait = static_cast<Wait*>(argument);
  ContextWait& owner = wait->owner;
  bool synchronised = false;
  {
    const RelaxedCapture relaxed;
    const swap::CurrentContext current(owner.driver_, wait->held.contexts()[0]);
    CUresult result = CUDA_SUCCESS;
    // Only if none has begun since the wait was ordered. With a sticky error nothing runs.
    synchronised = owner.captures_.RunIfNone([&] { result = Real().cuCtxSynchronize(); }) &&
                   result != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  delete wait;
  MutexLock lock(owner.mutex_);
  owner.running_ = false;
  owner.synchronised_ = synchronised;
  owner.ended_.NotifyAll();
  return nullptr;
}

}  // namespace reveza::interpose
