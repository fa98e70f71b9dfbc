// How a simulated client carries out orders: gates, evictions, swap-ins.
#include <algorithm>

#include "reveza/gpu/simulator/client.h"

namespace reveza::simulator {

using scheduler::ContextRelease;
using scheduler::EvictFailure;
using scheduler::GrowthKind;
using scheduler::Scheduler;

namespace {

constexpr Time kInstant = std::chrono::microseconds(10);
constexpr Bytes kChunk = 512 * kMiB;
constexpr Time kMinContextMove = std::chrono::milliseconds(2);
constexpr Time kMaxContextMove = std::chrono::milliseconds(40);

}  // namespace

void Client::Execute(const scheduler::Decision& decision) {
  std::visit([this](const auto& order) { Do(order); }, decision);
}

void Client::Do(const scheduler::OpenGate&) {
  if (gate_ == Gate::kClosing || gate_ == Gate::kAdmitting) {
    world_.checker().Fail("OpenGate for a closing gate", world_.now());
  }
  swap_in_serial_ = 0;
  // Sent before a restarted daemon learned that they are away.
  if (contexts_ != Contexts::kHere) return;
  for (const auto& [gpu, state] : gpus_) {
    // It has allocated since the order was sent: the order is stale.
    if (state.footprint.swapped > 0 || state.swapping_in > 0) return;
  }
  gate_ = Gate::kOpen;
  OnGateOpened();
}

void Client::OnGateOpened() {
  gate_requested_ = false;
  idle_reported_ = false;
  if (growth_deferred_) {
    RequestGrowth();
  } else if (activity_ == Activity::kGate) {
    Proceed();
  } else {
    WatchIdle();
  }
}

void Client::Do(const scheduler::CloseGate& order) {
  if (gate_ == Gate::kClosed) {
    if (order.submissions > 0) return Admit(order);
    // The previous OpenGate was stale, so the gate is still closed.
    return Send(EventKind::kOther, &Scheduler::GateClosed, order.serial);
  }
  // A withdrawal may cross the answer to what it withdraws.
  if (order.serial == failed_close_serial_) return;
  if (gate_ == Gate::kClosing && close_serial_ == order.serial) return;
  StartClosing(order);
}

void Client::Admit(const scheduler::CloseGate& order) {
  gate_requested_ = false;
  for (const auto& [gpu, state] : gpus_) {
    if (state.footprint.swapped == 0) continue;
    Send(EventKind::kOther, &Scheduler::GateClosed, order.serial);
    if (activity_ == Activity::kGate) WaitAtGate();
    return;
  }
  gate_ = Gate::kAdmitting;
  admission_ = order;
  admitted_ = order.submissions;
  if (activity_ == Activity::kGate && !growth_deferred_) Proceed();
}

void Client::StartClosing(const scheduler::CloseGate& order) {
  close_serial_ = order.serial;
  gate_requested_ = false;
  gate_ = Gate::kClosing;
  if (IsDrained()) {
    world_.ScheduleFor(world_.now() + kInstant, id_,
                       [serial = order.serial](Client& self) { self.FinishClosing(serial); });
    return;
  }
  if (order.report_after < order.drain_limit) {
    world_.ScheduleFor(world_.now() + order.report_after, id_,
                       [serial = order.serial](Client& self) { self.ReportDraining(serial); });
  }
  world_.ScheduleFor(world_.now() + order.drain_limit, id_,
                     [serial = order.serial](Client& self) { self.FailDrain(serial); });
}

void Client::ReportDraining(std::uint32_t serial) {
  if (gate_ != Gate::kClosing || close_serial_ != serial) return;
  Send(EventKind::kOther, &Scheduler::Draining, serial);
}

void Client::FinishClosing(std::uint32_t serial) {
  if (gate_ != Gate::kClosing || close_serial_ != serial) return;
  gate_ = Gate::kClosed;
  Send(EventKind::kOther, &Scheduler::GateClosed, serial);
  if (activity_ == Activity::kGate) return WaitAtGate();
  if (!growth_deferred_) return;
  if (growth_.kind == GrowthKind::kSwappable) {
    AllocateVirtually();
  } else {
    WaitAtGate();
  }
}

void Client::FailDrain(std::uint32_t serial) {
  if (gate_ != Gate::kClosing || close_serial_ != serial) return;
  gate_ = Gate::kOpen;
  failed_close_serial_ = serial;
  ++failed_drains_;
  Send(EventKind::kDrainFailed, &Scheduler::DrainFailed, serial);
  OnGateOpened();
}

void Client::Do(const scheduler::Evict& order) {
  if (gate_ != Gate::kClosed) world_.checker().Fail("Evict for an open gate", world_.now());
  swap_in_serial_ = 0;
  GpuState& state = gpus_[order.gpu];
  if (state.evict_serial != 0) world_.checker().Fail("Evict during an eviction", world_.now());
  state.evict_serial = order.serial;
  state.evict_left = order.bytes;
  const Bytes unused = std::min(Unused(state), state.evict_left);
  state.evict_left -= unused;
  state.credit -= unused;
  if (unused > 0) Account(order.gpu, unused);
  EvictPieces(order.gpu);
}

void Client::EvictPieces(GpuId gpu) {
  GpuState& state = gpus_[gpu];
  if (state.swapping_out) return;
  if (state.footprint.resident == 0 && state.swapping_in > 0)
    return;  // continues after the swap-in
  if (state.evict_left == 0 || state.footprint.resident == 0) {
    return FinishEviction(gpu, EvictFailure::kNone);
  }
  if (world_.Chance(plan_.evict_failure_probability)) {
    return FinishEviction(gpu, EvictFailure::kHostMemory);
  }
  const Bytes piece = std::min(world_.config().granule, state.footprint.resident);
  state.swapping_out = true;
  const Bytes needed = HostUsed() + piece;
  GrowArena(needed);
  if (needed <= arena_) {
    CopyOut(gpu, piece, state.evict_serial);
  } else {
    world_.ScheduleFor(arena_chunks_.lower_bound(needed)->second, id_,
                       [gpu, piece, serial = state.evict_serial](Client& self) {
                         self.CopyOut(gpu, piece, serial);
                       });
  }
}

void Client::CopyOut(GpuId gpu, Bytes piece, std::uint32_t serial) {
  const Time done = world_.Copy(gpu, Direction::kOut, piece);
  world_.ScheduleFor(done, id_, [gpu, piece, serial](Client& self) {
    GpuState& now = self.gpus_[gpu];
    now.swapping_out = false;
    if (now.evict_serial != serial) {
      if (now.evict_serial != 0) self.EvictPieces(gpu);
      return;
    }
    now.footprint.resident -= piece;
    now.footprint.swapped += piece;
    now.credit -= piece;
    now.evict_left -= std::min(piece, now.evict_left);
    self.Account(gpu, piece);
    self.EvictPieces(gpu);
  });
}

void Client::FinishEviction(GpuId gpu, EvictFailure failure) {
  GpuState& state = gpus_[gpu];
  const std::uint32_t serial = state.evict_serial;
  state.evict_serial = 0;
  state.evict_left = 0;
  Send(EventKind::kOther, &Scheduler::Evicted, serial, gpu, failure);
}

void Client::Do(const scheduler::SwapIn& order) {
  swap_in_serial_ = order.serial;
  for (const auto& [gpu, state] : gpus_) SwapInPieces(gpu);
  ReportSwappedIn();
}

void Client::Do(const scheduler::GiveCredit& order) {
  gpus_[order.gpu].credit += order.bytes;
  SwapInPieces(order.gpu);
}

void Client::SwapInPieces(GpuId gpu) {
  GpuState& state = gpus_[gpu];
  if (swap_in_serial_ == 0 || state.swapping_in > 0) return;
  Bytes piece = std::min({world_.config().granule, state.footprint.swapped, Unused(state)});
  if (piece == 0) return;
  const bool never_written = state.never_written > 0;
  if (never_written) piece = std::min(piece, state.never_written);
  state.swapping_in = piece;
  state.swapping_in_new = never_written;
  const Time done =
      never_written ? world_.now() + kInstant : world_.Copy(gpu, Direction::kIn, piece);
  world_.ScheduleFor(done, id_, [gpu, piece, resumed = resumed_](Client& self) {
    if (self.resumed_ != resumed) return;
    GpuState& now = self.gpus_[gpu];
    FinishSwapIn(now, piece);
    self.Account(gpu);
    if (now.evict_serial != 0) return self.EvictPieces(gpu);
    self.SwapInPieces(gpu);
    self.ReportSwappedIn();
  });
}

void Client::FinishSwapIn(GpuState& state, Bytes piece) {
  state.swapping_in = 0;
  state.footprint.resident += piece;
  state.footprint.swapped -= piece;
  if (state.swapping_in_new) state.never_written -= piece;
}

void Client::ReportSwappedIn() {
  if (swap_in_serial_ == 0) return;
  for (const auto& [gpu, state] : gpus_) {
    if (state.footprint.swapped > 0 || state.swapping_in > 0) return;
  }
  Send(EventKind::kOther, &Scheduler::SwappedIn, swap_in_serial_);
  swap_in_serial_ = 0;
}

void Client::Do(const scheduler::SetContention& order) {
  contention_ = order.waiting;
  idle_after_ = order.idle_after;
  idle_reported_ = false;
  WatchIdle();
}

void Client::Do(const scheduler::PrepareArena& order) { GrowArena(order.bytes); }

// Pins in chunks, after those already queued; each chunk is usable as soon as it is ready.
void Client::GrowArena(Bytes bytes) {
  Bytes begun = arena_chunks_.empty() ? 0 : arena_chunks_.rbegin()->first;
  if (bytes <= begun) return;
  while (begun < bytes) {
    const Bytes chunk = std::min(bytes - begun, kChunk);
    begun += chunk;
    arena_chunks_[begun] = world_.Pin(chunk);
  }
  const Time ready = arena_chunks_.rbegin()->second;
  if (ready == world_.now()) {
    arena_ = bytes;
    return;
  }
  world_.ScheduleFor(ready, id_, [bytes](Client& self) {
    self.arena_ = std::max(self.arena_, bytes);
    for (const auto& [gpu, state] : self.gpus_) self.Account(gpu);
  });
}

void Client::Do(const scheduler::ReleaseContexts& order) {
  if (gate_ != Gate::kClosed || contexts_ != Contexts::kHere) {
    world_.checker().Fail("ReleaseContexts at the wrong time", world_.now());
  }
  swap_in_serial_ = 0;
  // A piece may come in while the order to evict, or this one, is on its way.
  const bool holds_more = std::ranges::any_of(gpus_, [](const auto& entry) {
    const GpuState& on = entry.second;
    return on.footprint.resident > 0 || on.swapping_in > 0 || on.evict_serial != 0;
  });
  const bool busy = holds_more || world_.Chance(plan_.busy_release_probability);
  if (busy || plan_.refuses_release) {
    const auto why = busy ? ContextRelease::kBusy : ContextRelease::kRefused;
    return Send(busy ? EventKind::kOther : EventKind::kContextsKept, &Scheduler::ContextsReleased,
                order.serial, why);
  }
  contexts_ = Contexts::kLeaving;
  contexts_serial_ = order.serial;
  world_.ScheduleFor(world_.now() + world_.RandomTime(kMinContextMove, kMaxContextMove), id_,
                     [serial = order.serial](Client& self) {
                       if (self.contexts_serial_ == serial) self.FinishRelease();
                     });
}

void Client::FinishRelease() {
  if (contexts_ != Contexts::kLeaving) return;
  contexts_ = Contexts::kAway;
  for (auto& [gpu, state] : gpus_) state.credit = 0;
  Send(EventKind::kOther, &Scheduler::ContextsReleased, contexts_serial_,
       ContextRelease::kReleased);
}

void Client::Do(const scheduler::RestoreContexts& order) {
  if (contexts_ != Contexts::kAway) {
    world_.checker().Fail("RestoreContexts of contexts that are there", world_.now());
  }
  contexts_ = Contexts::kComing;
  contexts_serial_ = order.serial;
  for (auto& [gpu, state] : gpus_) state.credit = state.footprint.Fixed();
  world_.ScheduleFor(world_.now() + world_.RandomTime(kMinContextMove, kMaxContextMove), id_,
                     [serial = order.serial](Client& self) {
                       if (self.contexts_serial_ == serial) self.FinishRestore();
                     });
}

void Client::FinishRestore() {
  if (contexts_ != Contexts::kComing) return;
  contexts_ = Contexts::kHere;
  Send(EventKind::kOther, &Scheduler::ContextsRestored, contexts_serial_);
}

void Client::Resume() {
  if (dead_) return;
  // What has begun is carried out to its end before the agent looks at its connection.
  ++resumed_;
  for (auto& [gpu, state] : gpus_) FinishSwapIn(state, state.swapping_in);
  if (contexts_ == Contexts::kLeaving) contexts_ = Contexts::kAway;
  if (contexts_ == Contexts::kComing) contexts_ = Contexts::kHere;
  contexts_serial_ = 0;
  const bool closing = gate_ == Gate::kClosing || gate_ == Gate::kAdmitting;
  if (closing) gate_ = Gate::kOpen;
  failed_close_serial_ = 0;
  // A client without a GPU has nothing to resume and starts with a closed gate.
  if (gpus_.empty()) gate_ = Gate::kClosed;
  swap_in_serial_ = 0;
  contention_ = false;
  JoinScheduler();
  if (contexts_away()) Send(EventKind::kOther, &Scheduler::ContextsAway);
  for (auto& [gpu, state] : gpus_) {
    state.evict_serial = 0;
    state.evict_left = 0;
    state.context_credit = 0;
    state.credit = Held(gpu);
    Send(EventKind::kResumed, &Scheduler::ClientResumed, gpu, state.footprint, state.credit,
         gate_ == Gate::kOpen);
    Account(gpu, 0, EventKind::kResumed);
  }
  gate_requested_ = false;
  if (activity_ == Activity::kContext) NextContext();
  if (activity_ == Activity::kGrowth && !growth_deferred_) {
    SendGrowth();
  } else if (activity_ == Activity::kGate && !closing) {
    WaitAtGate();
  }
  if (closing && gate_ == Gate::kOpen) OnGateOpened();
}

}  // namespace reveza::simulator
