#include "reveza/gpu/interpose/captures.h"

#include <algorithm>

#include "generated/interpose/driver_calls.h"

namespace reveza::interpose {

RelaxedCapture::RelaxedCapture() : before_(CU_STREAM_CAPTURE_MODE_RELAXED) {
  Real().cuThreadExchangeStreamCaptureMode(&before_);
}

RelaxedCapture::~RelaxedCapture() { Real().cuThreadExchangeStreamCaptureMode(&before_); }

template <typename Condition>
void Captures::RemoveIf(Condition condition) {
  std::erase_if(captures_, condition);
  count_.store(static_cast<int>(captures_.size()), std::memory_order_release);
}

void Captures::AwaitCalls() {
  ++waiting_begins_;
  while (running_calls_ > 0 && changed_.WaitFor(begin_mutex_, max_begin_delay_)) {
  }
  --waiting_begins_;
  changed_.NotifyAll();
}

void Captures::OnBegin(const CapturedStream& stream) {
  MutexLock lock(mutex_);
  captures_.push_back({stream, pthread_self()});
  count_.store(static_cast<int>(captures_.size()), std::memory_order_release);
}

void Captures::OnEnd(const CapturedStream& stream) {
  MutexLock lock(mutex_);
  RemoveIf([&](const Capture& capture) {
    if (capture.stream.per_thread != stream.per_thread) return false;
    if (!stream.per_thread) return capture.stream.stream == stream.stream;
    return capture.stream.context == stream.context &&
           pthread_equal(capture.thread, pthread_self()) != 0;
  });
}

void Captures::OnContextDestroy(CUcontext context) {
  MutexLock lock(mutex_);
  RemoveIf([&](const Capture& capture) { return capture.stream.context == context; });
}

bool Captures::InProgress(CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*)) {
  MutexLock lock(mutex_);
  RemoveIf([&](const Capture& capture) {
    if (capture.stream.per_thread || capture.stream.cig) return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return is_capturing(capture.stream.stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
  });
  return !captures_.empty();
}

}  // namespace reveza::interpose
