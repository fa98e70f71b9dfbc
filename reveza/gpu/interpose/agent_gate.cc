// The agent: closing the gate, draining the GPU, opening the gate; contention and idle detection.
#include <unistd.h>

#include <algorithm>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/queue_bound.h"

namespace reveza::interpose {

bool Agent::CaptureInProgress() {
  return client_.captures_.Any() && client_.captures_.InProgress(Real().cuStreamIsCapturing);
}

// The time limit of an order, and the time after which the daemon is told that the GPU is not
// drained.
class Agent::Deadline {
 public:
  Deadline(Connection& connection, const wire::CloseGate& order)
      : connection_(connection), order_(order) {}

  std::int64_t elapsed() const { return NowMicroseconds() - began_us_; }
  // Calls `step`, which waits for at most as many microseconds as it is told and returns whether it
  // is done, until `limit_us` after the beginning.
  template <typename Step>
  bool Await(std::int64_t limit_us, Step step) {
    const std::int64_t report_after = order_.report_after_us;
    if (!reported_ && report_after < limit_us) {
      if (step(std::max<std::int64_t>(report_after - elapsed(), 0))) return true;
      reported_ = connection_.Send(wire::Draining{.serial = order_.serial});
    }
    return step(std::max<std::int64_t>(limit_us - elapsed(), 0));
  }
  template <typename Step>
  bool Await(Step step) {
    return Await(order_.drain_limit_us, step);
  }
  // Half of the limit is left for the drain.
  std::int64_t host_limit_us() const { return order_.drain_limit_us / 2; }

 private:
  Connection& connection_;
  const wire::CloseGate order_;
  const std::int64_t began_us_ = NowMicroseconds();
  bool reported_ = false;
};

void Agent::Handle(const wire::CloseGate& order) {
  // The daemon withdrew an admission before it learned that the gate is open.
  if (order.serial == failed_close_serial_) return;
  if (order.submissions == 0 || gate_ != GateState::kClosed) return Close(order);
  // New allocations wait, instead of being virtual: what passes the gate must not use those.
  client_.ledger_.SetResidency(swap::Residency::kSettled);
  for (const Gpu& gpu : gpus_) {
    if (client_.ledger_.GetUsage(gpu.ordinal).swapped > 0) return Close(order);
  }
  admission_ = order;
  gate_ = GateState::kAdmitting;
  gate_request_sent_ = false;
  client_.at_gate_.store(false, std::memory_order_release);
  Gate::Admit(order.submissions);
}

void Agent::ContinueAdmitting() {
  // In this order: a thread that arrives meanwhile sets the flag again and wakes the agent.
  if (gate_ != GateState::kAdmitting ||
      !client_.at_gate_.exchange(false, std::memory_order_acq_rel) || !Gate::AdmissionUsedUp()) {
    return;
  }
  client_.at_gate_.store(true, std::memory_order_release);
  Close(admission_);
}

std::optional<wire::DrainFailure> Agent::CloseAndDrain(Deadline& deadline,
                                                       std::int64_t* closed_us) {
  // With the gate open, because the host may have to submit more before it ends a wait. A gate that
  // has admitted some submissions is closed: a thread may be blocked there while it submits a wait.
  std::optional<HostWaits::Hold> hold;
  if (gate_ == GateState::kOpen) {
    hold.emplace(client_.host_waits_);
    deadline.Await(deadline.host_limit_us(),
                   [&](std::int64_t limit) { return hold->Await(NowMicroseconds() + limit); });
    if (CaptureInProgress()) return wire::DrainFailure::kCapture;
    if (client_.host_waits_.Pending(HostWaits::Kind::kValue)) return wire::DrainFailure::kLimit;
  }
  if (!deadline.Await([](std::int64_t limit) { return Gate::Close(limit); })) {
    return wire::DrainFailure::kInsideCall;
  }
  if (CaptureInProgress()) return wire::DrainFailure::kCapture;
  *closed_us = deadline.elapsed();
  if (deadline.Await([this](std::int64_t limit) { return Drain(limit); })) return std::nullopt;
  return wire::DrainFailure::kLimit;
}

void Agent::Close(const wire::CloseGate& order) {
  Deadline deadline(connection_, order);
  std::int64_t closed_us = 0;
  // A closed gate: drained already, and nothing was submitted since.
  if (gate_ == GateState::kOpen || gate_ == GateState::kAdmitting) {
    // No thread waits at an open gate, but the flag may have been set late, by a thread that
    // arrived just before it opened. Threads that wait from now on set it again.
    if (gate_ == GateState::kOpen) client_.at_gate_.store(false, std::memory_order_release);
    if (const auto failure = CloseAndDrain(deadline, &closed_us)) {
      if (gate_ == GateState::kAdmitting) client_.ledger_.SetResidency(swap::Residency::kIn);
      gate_ = GateState::kOpen;
      Gate::Open(Bounded());
      client_.at_gate_.store(false, std::memory_order_release);
      failed_close_serial_ = order.serial;
      connection_.Send(
          wire::DrainFailed{.serial = order.serial,
                            .reason = *failure,
                            .waited_us = static_cast<std::uint32_t>(deadline.elapsed())});
      return;
    }
  }
  gate_ = GateState::kClosed;
  open_ordered_ = false;
  gate_request_sent_ = false;
  client_.ledger_.SetResidency(swap::Residency::kOut);
  ReportUsage();
  connection_.Send(
      wire::GateClosed{.serial = order.serial,
                       .gate_us = static_cast<std::uint32_t>(closed_us),
                       .drain_us = static_cast<std::uint32_t>(deadline.elapsed() - closed_us)});
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
  if (real.cuCtxRecordEvent == nullptr) return context_wait_.Await(context, until_us);
  CUevent done = nullptr;
  if (real.cuEventCreate(&done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return SynchroniseContext(real);
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
  // Sent by a restarted daemon before it was told that they are away.
  if (contexts_away_) {
    gate_request_sent_ = false;
    return;
  }
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
  BeginPeriod();
  client_.ledger_.SetResidency(connection_.is_open() ? swap::Residency::kIn
                                                     : swap::Residency::kUnmanaged);
  {
    MutexLock lock(client_.wait_reason_mutex_);
    client_.wait_reason_[0] = '\0';
  }
  Gate::Open(Bounded());
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
  Gate::Open(Bounded());
  // Threads that arrived meanwhile are not waiting for a time slice.
  client_.at_gate_.store(false, std::memory_order_release);
  if (idle && Gate::Submissions() == submissions) {
    idle_reported_ = connection_.Send(wire::Idle{});
  } else {
    last_submission_us_ = now;  // busy: check again after another idle_after_us_
  }
}

void Agent::Handle(const wire::Contention& contention) {
  contention_ = contention.waiting != 0;
  idle_after_us_ = contention.idle_after_us;
  idle_reported_ = false;
  last_submissions_ = Gate::Submissions();
  last_submission_us_ = NowMicroseconds();
  if (gate_ == GateState::kOpen) Gate::SetBounded(Bounded());
}

void Agent::Handle(const wire::QueueBound& bound) {
  QueueBound::SetBound(bound.bound_us);
  always_bounded_ = bound.always == 1;
  if (gate_ == GateState::kOpen) Gate::SetBounded(Bounded());
}

}  // namespace reveza::interpose
