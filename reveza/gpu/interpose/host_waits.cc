#include "reveza/gpu/interpose/host_waits.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/captures.h"
#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {

HostWaits::Submission::Submission(HostWaits& waits) : waits_(waits) {
  MutexLock lock(waits_.mutex_);
  while (waits_.held_) waits_.changed_.Wait(waits_.mutex_);
  ++waits_.submitting_;
}

HostWaits::Submission::~Submission() {
  MutexLock lock(waits_.mutex_);
  --waits_.submitting_;
  waits_.changed_.NotifyAll();
}

HostWaits::Hold::Hold(HostWaits& waits) : waits_(waits) {
  MutexLock lock(waits_.mutex_);
  waits_.held_ = true;
}

bool HostWaits::Hold::Await(std::int64_t until_us) {
  {
    MutexLock lock(waits_.mutex_);
    while (waits_.submitting_ > 0 && NowMicroseconds() < until_us) {
      waits_.changed_.WaitFor(waits_.mutex_, std::chrono::milliseconds(1));
    }
  }
  useconds_t pause = 10;
  while (waits_.Pending(Kind::kValue) || waits_.Pending(Kind::kFunction)) {
    if (NowMicroseconds() >= until_us) return false;
    usleep(pause);
    if (pause < 500) pause *= 2;
  }
  return true;
}

HostWaits::Hold::~Hold() {
  MutexLock lock(waits_.mutex_);
  waits_.held_ = false;
  waits_.changed_.NotifyAll();
}

bool HostWaits::held() {
  MutexLock lock(mutex_);
  return held_;
}

HostWaits::Wait* HostWaits::Find(const Wait& like) {
  const auto found = std::ranges::find_if(waits_, [&](const Wait& wait) {
    return wait.kind == like.kind && wait.context == like.context && wait.stream == like.stream &&
           !wait.destroyed && wait.per_thread == like.per_thread &&
           (!wait.per_thread || pthread_equal(wait.thread, like.thread) != 0);
  });
  return found == waits_.end() ? nullptr : &*found;
}

// The driver is called without the lock: recording blocks while the stream's queue is full.
void HostWaits::Record(CUstream stream, bool per_thread, Kind kind) {
  Wait wait{.kind = kind,
            .context = nullptr,
            .stream = per_thread ? CU_STREAM_PER_THREAD : stream,
            .per_thread = per_thread,
            .destroyed = false,
            .thread = pthread_self(),
            .over = nullptr,
            .pending = true};
  if (driver_.ContextGetCurrent(&wait.context) != CUDA_SUCCESS) return;
  const RelaxedCapture relaxed;  // a capture may begin concurrently
  {
    MutexLock lock(mutex_);
    if (const Wait* known = Find(wait)) wait.over = known->over;
  }
  const bool added = wait.over == nullptr;
  if (added && driver_.EventCreate(&wait.over, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return;
  if (driver_.EventRecord(wait.over, wait.stream) != CUDA_SUCCESS) {
    if (added) driver_.EventDestroy(wait.over);
    return;
  }
  MutexLock lock(mutex_);
  if (Wait* known = added ? nullptr : Find(wait)) {
    known->pending = true;
  } else {
    waits_.push_back(wait);
  }
  any_.store(true, std::memory_order_release);
}

bool HostWaits::Pending(Kind kind, CUcontext except) {
  if (!any_.load(std::memory_order_acquire)) return false;
  const RelaxedCapture relaxed;
  MutexLock lock(mutex_);
  bool any = false;
  std::erase_if(waits_, [&](Wait& wait) {
    if (wait.pending) {
      const swap::CurrentContext current(driver_, wait.context);
      wait.pending = Real().cuEventQuery(wait.over) == CUDA_ERROR_NOT_READY;
      if (!wait.pending && wait.destroyed) driver_.EventDestroy(wait.over);
    }
    any = any || (wait.pending && wait.kind == kind && wait.context != except);
    return wait.destroyed && !wait.pending;
  });
  any_.store(!waits_.empty(), std::memory_order_release);
  return any;
}

// What the stream waits for may still come.
void HostWaits::OnStreamDestroy(CUstream stream) {
  MutexLock lock(mutex_);
  for (Wait& wait : waits_) {
    if (wait.stream == stream && !wait.per_thread) wait.destroyed = true;
  }
}

// The events are destroyed with it.
void HostWaits::OnContextDestroy(CUcontext context) {
  MutexLock lock(mutex_);
  std::erase_if(waits_, [&](const Wait& wait) { return wait.context == context; });
  any_.store(!waits_.empty(), std::memory_order_release);
}

}  // namespace reveza::interpose
