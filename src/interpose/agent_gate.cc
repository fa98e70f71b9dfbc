// The agent: closing the gate and draining the GPU, opening it again, and whether the program is
// idle.
#include <unistd.h>

#include "interpose/agent.h"
#include "interpose/driver_calls.h"
#include "interpose/gate.h"
#include "interpose/gate_wait.h"
#include "swap/sync.h"

namespace reveza::interpose {

bool Agent::CaptureInProgress() {
  return client_.captures_.Any() && client_.captures_.InProgress(Real().cuStreamIsCapturing);
}

void Agent::OnCloseGate(const wire::CloseGate& order) {
  const std::int64_t began = swap::NowMicroseconds();
  wire::DrainFailed failed{};
  failed.serial = order.serial;
  std::int64_t inside_us = began;
  bool closed = gate_ != GateState::kOpen;  // nothing was submitted since it was last drained
  if (!closed) {
    // Nobody waits at an open gate; who came just before it opened may have said so after. Whoever
    // waits from now on says so, also who still sleeps from the last time.
    client_.at_gate_.store(false, std::memory_order_release);
    if (CaptureInProgress()) {
      failed.reason = wire::DrainFailure::kCapture;
    } else if (!Gate::Close(order.drain_limit_us)) {
      failed.reason = wire::DrainFailure::kInsideCall;
    } else if (CaptureInProgress()) {
      failed.reason = wire::DrainFailure::kCapture;
    } else {
      inside_us = swap::NowMicroseconds();
      closed = Drain(order.drain_limit_us - (inside_us - began));
      failed.reason = wire::DrainFailure::kLimit;
    }
  }
  const std::int64_t now = swap::NowMicroseconds();
  if (!closed) {
    Gate::Open(contention_);
    client_.at_gate_.store(false, std::memory_order_release);
    failed.waited_us = static_cast<std::uint32_t>(now - began);
    connection_.Send(failed);
    return;
  }
  gate_ = GateState::kClosed;
  told_to_open_ = false;
  gate_wanted_sent_ = false;
  client_.ledger_.SetResidency(swap::Residency::kOut);
  ReportBooks();
  wire::GateClosed done{};
  done.serial = order.serial;
  done.gate_us = static_cast<std::uint32_t>(inside_us - began);
  done.drain_us = static_cast<std::uint32_t>(now - inside_us);
  connection_.Send(done);
}

bool Agent::Drain(std::int64_t limit_us) {
  const std::int64_t until = swap::NowMicroseconds() + limit_us;
  for (const CUcontext context : client_.Contexts()) {
    if (!DrainContext(context, until)) return false;
  }
  return true;
}

namespace {

// Without a limit. False where it may not wait: a capture that began behind our back.
bool AwaitContext(const DriverCalls& real) {
  return real.cuCtxSynchronize() != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

}  // namespace

// An error of the context (the program's kernel failed) counts as drained: nothing runs there.
bool Agent::DrainContext(CUcontext context, std::int64_t until_us) {
  const DriverCalls& real = Real();
  swap::CurrentContext current(client_.swap_driver_, context);
  if (current.result() != CUDA_SUCCESS) return true;
  CUevent done = nullptr;
  if (real.cuCtxRecordEvent == nullptr ||
      real.cuEventCreate(&done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return AwaitContext(real);  // drivers before 12.5
  }
  CUresult result = real.cuCtxRecordEvent(context, done);
  if (result == CUDA_SUCCESS) {
    useconds_t pause = 10;
    while ((result = real.cuEventQuery(done)) == CUDA_ERROR_NOT_READY &&
           swap::NowMicroseconds() < until_us) {
      usleep(pause);
      if (pause < 200) pause += pause / 2;
    }
  } else if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    result = CUDA_ERROR_NOT_READY;
  } else if (!AwaitContext(real)) {
    result = CUDA_ERROR_NOT_READY;
  }
  real.cuEventDestroy_v2(done);
  return result != CUDA_ERROR_NOT_READY;
}

// What was allocated since the daemon last heard of our books is not in physical memory yet: the
// books say so, and the daemon orders a swap-in, and then the gate open again.
void Agent::OnOpenGate() {
  told_to_open_ = true;
  if (gate_ == GateState::kOpen) return;
  swapping_in_ = false;
  for (const Gpu& gpu : gpus_) {
    if (client_.ledger_.GetBooks(gpu.ordinal).swapped == 0) continue;
    gate_wanted_sent_ = false;  // what was said before the order no longer counts
    return ReportBooks();
  }
  gate_ = GateState::kOpening;
}

// There is credit for everything; what has no physical memory yet gets it.
void Agent::ContinueOpening() {
  if (gate_ != GateState::kOpening) return;
  const swap::SwapInState state = mover_.SwapInStep();
  swapped_in_ += mover_.TakeCopiedIn();
  retry_soon_ = state == swap::SwapInState::kRetry;
  if (state == swap::SwapInState::kNeedCredit) {
    gate_ = GateState::kClosed;
    gate_wanted_sent_ = false;
    ReportBooks();
  }
  if (state == swap::SwapInState::kDone) OpenNow();
}

void Agent::OpenNow() {
  gate_ = GateState::kOpen;
  retry_soon_ = false;
  client_.at_gate_.store(false, std::memory_order_release);
  gate_wanted_sent_ = false;
  idle_reported_ = false;
  last_submission_us_ = swap::NowMicroseconds();
  client_.ledger_.SetResidency(connection_.is_open() ? swap::Residency::kIn
                                                     : swap::Residency::kUnmanaged);
  {
    swap::MutexLock lock(client_.why_mutex_);
    client_.why_[0] = '\0';
  }
  Gate::Open(contention_);
  ReportBooks();
}

// Somebody waits: if nothing was submitted for as long as a handover costs, and the GPU has
// nothing left to do for us, say so. The gate is closed for the moment of the question, because
// asking would disturb a capture that begins meanwhile.
void Agent::CheckIdle() {
  if (!contention_ || gate_ != GateState::kOpen) return;
  const std::int64_t now = swap::NowMicroseconds();
  const std::uint64_t submissions = Gate::Submissions();
  if (submissions != last_submissions_) {
    last_submissions_ = submissions;
    last_submission_us_ = now;
    idle_reported_ = false;
    return;
  }
  if (idle_reported_ || now - last_submission_us_ < idle_after_us_ || CaptureInProgress()) return;
  const bool idle = Gate::Close(1000) && !CaptureInProgress() && Drain(1000);
  Gate::Open(contention_);
  // Who met the gate meanwhile does not wait for a turn.
  client_.at_gate_.store(false, std::memory_order_release);
  if (idle && Gate::Submissions() == submissions) {
    idle_reported_ = connection_.Send(wire::Idle{});
  } else {
    last_submission_us_ = now;  // busy: ask again only after another such while
  }
}

}  // namespace reveza::interpose
