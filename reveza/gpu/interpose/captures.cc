#include "reveza/gpu/interpose/captures.h"

#include <algorithm>

#include "generated/interpose/driver_calls.h"

namespace reveza::interpose {

RelaxedCapture::RelaxedCapture() : before_(CU_STREAM_CAPTURE_MODE_RELAXED) {
  Real().cuThreadExchangeStreamCaptureMode(&before_);
}

RelaxedCapture::~RelaxedCapture() { Real().cuThreadExchangeStreamCaptureMode(&before_); }

void Captures::OnBegin(CUstream stream, bool per_thread, bool cig) {
  MutexLock lock(mutex_);
  captures_.push_back({stream, per_thread, cig, pthread_self()});
  count_.store(static_cast<int>(captures_.size()), std::memory_order_release);
}

void Captures::OnEnd(CUstream stream, bool per_thread) {
  MutexLock lock(mutex_);
  std::erase_if(captures_, [&](const Capture& capture) {
    if (capture.per_thread != per_thread) return false;
    return per_thread ? pthread_equal(capture.thread, pthread_self()) != 0
                      : capture.stream == stream;
  });
  count_.store(static_cast<int>(captures_.size()), std::memory_order_release);
}

bool Captures::InProgress(CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*)) {
  MutexLock lock(mutex_);
  std::erase_if(captures_, [&](const Capture& capture) {
    if (capture.per_thread || capture.cig) return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return is_capturing(capture.stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
  });
  count_.store(static_cast<int>(captures_.size()), std::memory_order_release);
  return !captures_.empty();
}

}  // namespace reveza::interpose
