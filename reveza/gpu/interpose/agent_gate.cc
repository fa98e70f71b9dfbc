// The agent: closing the gate and draining the GPU, opening the gate, idle detection.
#include <unistd.h>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {

bool Agent::CaptureInProgress() {
  return client_.captures_.Any() && client_.captures_.InProgress(Real().cuStreamIsCapturing);
}

void Agent::Handle(const wire::CloseGate& order) {
  const std::int64_t began = NowMicroseconds();
  wire::DrainFailed failed{};
  failed.serial = order.serial;
  std::int64_t inside_us = began;
  bool closed = gate_ != GateState::kOpen;  // drained already, and nothing was submitted since
  if (!closed) {
    // No thread waits at an open gate, but the flag may have been set late, by a thread that
    // arrived just before it opened. Threads that wait from now on set it again.
    client_.at_gate_.store(false, std::memory_order_release);
    // With the gate open, because the host may have to submit more before it ends a wait.
    const HostWaits::Hold hold(client_.host_waits_, began + order.drain_limit_us / 2);
    if (CaptureInProgress()) {
      failed.reason = wire::DrainFailure::kCapture;
    } else if (client_.host_waits_.Pending(HostWaits::Kind::kValue)) {
      failed.reason = wire::DrainFailure::kLimit;
    } else if (!Gate::Close(order.drain_limit_us)) {
      failed.reason = wire::DrainFailure::kInsideCall;
    } else if (CaptureInProgress()) {
      failed.reason = wire::DrainFailure::kCapture;
    } else {
      inside_us = NowMicroseconds();
      closed = Drain(order.drain_limit_us - (inside_us - began));
      failed.reason = wire::DrainFailure::kLimit;
    }
  }
  const std::int64_t now = NowMicroseconds();
  if (!closed) {
    Gate::Open(contention_);
    client_.at_gate_.store(false, std::memory_order_release);
    failed.waited_us = static_cast<std::uint32_t>(now - began);
    connection_.Send(failed);
    return;
  }
  gate_ = GateState::kClosed;
  open_ordered_ = false;
  gate_request_sent_ = false;
  client_.ledger_.SetResidency(swap::Residency::kOut);
  ReportUsage();
  connection_.Send(wire::GateClosed{.serial = order.serial,
                                    .gate_us = static_cast<std::uint32_t>(inside_us - began),
                                    .drain_us = static_cast<std::uint32_t>(now - inside_us)});
}

bool Agent::Drain(std::int64_t limit_us) {
  const std::int64_t until = NowMicroseconds() + limit_us;
  for (const CUcontext context : client_.contexts_.All()) {
    if (!DrainContext(context, until)) return false;
  }
  return true;
}

namespace {

// Synchronises without a limit. Returns false if a capture, which was not recorded, prevents it.
bool SynchroniseContext(const DriverCalls& real) {
  return real.cuCtxSynchronize() != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

}  // namespace

// A context with a sticky error (a kernel failed) counts as drained: nothing runs in it.
bool Agent::DrainContext(CUcontext context, std::int64_t until_us) {
  const DriverCalls& real = Real();
  swap::CurrentContext current(client_.swap_driver_, context);
  if (current.result() != CUDA_SUCCESS) return true;
  CUevent done = nullptr;
  if (real.cuCtxRecordEvent == nullptr ||
      real.cuEventCreate(&done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return SynchroniseContext(real);  // drivers before 12.5
  }
  CUresult result = real.cuCtxRecordEvent(context, done);
  if (result == CUDA_SUCCESS) {
    useconds_t pause = 10;
    while ((result = real.cuEventQuery(done)) == CUDA_ERROR_NOT_READY &&
           NowMicroseconds() < until_us) {
      usleep(pause);
      if (pause < 200) pause += pause / 2;
    }
  } else if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    result = CUDA_ERROR_NOT_READY;
  } else if (!SynchroniseContext(real)) {
    result = CUDA_ERROR_NOT_READY;
  }
  real.cuEventDestroy_v2(done);
  return result != CUDA_ERROR_NOT_READY;
}

// If memory was allocated virtually since the last accounting report, reports it instead of
// opening; the daemon then orders a swap-in and opens the gate again.
void Agent::Handle(const wire::OpenGate&) {
  open_ordered_ = true;
  if (gate_ == GateState::kOpen) return;
  swapping_in_ = false;
  for (const Gpu& gpu : gpus_) {
    if (client_.ledger_.GetUsage(gpu.ordinal).swapped == 0) continue;
    gate_request_sent_ = false;  // sent before this order, so the daemon has discarded it
    return ReportUsage();
  }
  gate_ = GateState::kOpening;
}

// All memory has credit; creates the physical memory that is still missing.
void Agent::ContinueOpening() {
  if (gate_ != GateState::kOpening) return;
  const swap::SwapInState state = client_.mover_.SwapInStep();
  swapped_in_ += client_.mover_.TakeCopiedIn();
  retry_soon_ = state == swap::SwapInState::kRetry;
  if (state == swap::SwapInState::kNeedCredit) {
    gate_ = GateState::kClosed;
    gate_request_sent_ = false;
    ReportUsage();
  }
  if (state == swap::SwapInState::kDone) FinishOpening();
}

void Agent::FinishOpening() {
  gate_ = GateState::kOpen;
  retry_soon_ = false;
  client_.at_gate_.store(false, std::memory_order_release);
  gate_request_sent_ = false;
  idle_reported_ = false;
  last_submission_us_ = NowMicroseconds();
  client_.ledger_.SetResidency(connection_.is_open() ? swap::Residency::kIn
                                                     : swap::Residency::kUnmanaged);
  {
    MutexLock lock(client_.wait_reason_mutex_);
    client_.wait_reason_[0] = '\0';
  }
  Gate::Open(contention_);
  ReportUsage();
}

// Under contention, reports Idle if nothing was submitted for idle_after_us_ and the queue is
// empty. The gate is closed during the check, which would invalidate a capture that begins
// meanwhile.
void Agent::CheckIdle() {
  if (!contention_ || gate_ != GateState::kOpen) return;
  const std::int64_t now = NowMicroseconds();
  const std::uint64_t submissions = Gate::Submissions();
  if (submissions != last_submissions_) {
    last_submissions_ = submissions;
    last_submission_us_ = now;
    idle_reported_ = false;
    return;
  }
  if (idle_reported_ || now - last_submission_us_ < idle_after_us_ || CaptureInProgress()) return;
  const bool idle = !client_.host_waits_.Pending(HostWaits::Kind::kValue) && Gate::Close(1000) &&
                    !CaptureInProgress() && Drain(1000);
  Gate::Open(contention_);
  // Threads that arrived meanwhile are not waiting for a time slice.
  client_.at_gate_.store(false, std::memory_order_release);
  if (idle && Gate::Submissions() == submissions) {
    idle_reported_ = connection_.Send(wire::Idle{});
  } else {
    last_submission_us_ = now;  // busy: check again after another idle_after_us_
  }
}

}  // namespace reveza::interpose
