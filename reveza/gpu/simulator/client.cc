#include "reveza/gpu/simulator/client.h"

#include <algorithm>

namespace reveza::simulator {

using scheduler::Growth;
using scheduler::GrowthKind;
using scheduler::Scheduler;

Client::Client(World& world, ClientId id, JobId job, const Plan& plan)
    : world_(world), id_(id), job_(job), plan_(plan) {
  const Bytes piece = plan_.piece == 0 ? plan_.footprint : plan_.piece;
  for (const GpuId gpu : plan_.gpus) {
    Bytes left = plan_.footprint;
    do {
      to_allocate_.push_back({gpu, std::min(left, piece)});
      left -= std::min(left, piece);
    } while (left > 0);
  }
}

const char* Client::WaitReasonText() const {
  switch (activity_) {
    case Activity::kContext:
      return "a context";
    case Activity::kGate:
      return "the gate";
    case Activity::kGrowth:
      return "memory";
    default:
      return "nothing";
  }
}

Bytes Client::Held(GpuId gpu) const {
  const auto entry = gpus_.find(gpu);
  if (entry == gpus_.end()) return 0;
  const GpuState& state = entry->second;
  const Bytes fixed = contexts_ == Contexts::kAway ? 0 : state.footprint.Fixed();
  return state.footprint.resident + fixed + state.swapping_in;
}

Bytes Client::HostUsed() const {
  Bytes sum = 0;
  for (const auto& [gpu, state] : gpus_) sum += state.footprint.swapped - state.never_written;
  return sum;
}

void Client::Start() {
  JoinScheduler();
  NextContext();
}

void Client::JoinScheduler() {
  Send(EventKind::kOther, &Scheduler::ClientJoined, job_, plan_.resident_only);
  if (plan_.movable_contexts) Send(EventKind::kOther, &Scheduler::SetMovableContexts);
  world_.Send(id_, EventKind::kOther, [job = job_, plan = plan_](Scheduler& scheduler, Time now) {
    scheduler.SetPolicy(now, job, plan.policy);
    if (plan.account) scheduler.SetAccount(now, job, *plan.account, plan.quota);
  });
}

void Client::Exit() {
  dead_ = true;
  if (plan_.submissions_per_collective > 0) {
    world_.CollectivesOf(job_).Leave(id_);
  } else if (activity_ == Activity::kStep) {
    world_.EndKernel(plan_.gpus, plan_.fills);
  }
  Send(EventKind::kDied, &Scheduler::ClientLeft);
  world_.Schedule(world_.now(), [&world = world_, id = id_] { world.RemoveClient(id); });
}

void Client::NextContext() {
  if (contexts_created_ == plan_.gpus.size()) {
    if (plan_.submissions_per_collective == 0) return Proceed();
    activity_ = Activity::kPeers;
    waiting_since_.reset();
    WatchIdle();
    return world_.CollectivesOf(job_).Arrive(id_);
  }
  Wait(Activity::kContext);
  Send(EventKind::kContextRequested, &Scheduler::ContextRequested, plan_.gpus[contexts_created_]);
}

void Client::Do(const scheduler::AdmitContext& order) {
  GpuState& state = gpus_[order.gpu];
  state.credit += order.credit;
  state.context_credit = order.credit;
  waiting_since_.reset();
  activity_ = Activity::kCreatingContext;
  using std::chrono::milliseconds;
  const Time made = world_.now() + world_.RandomTime(milliseconds(1), milliseconds(50));
  world_.ScheduleFor(made, id_, [gpu = order.gpu](Client& self) { self.FinishContext(gpu); });
}

void Client::Do(const scheduler::RefuseContext&) { Exit(); }

void Client::FinishContext(GpuId gpu) {
  GpuState& state = gpus_[gpu];
  state.credit = state.credit - state.context_credit + plan_.context;
  state.context_credit = 0;
  state.footprint.context += plan_.context;
  Send(EventKind::kContextCreated, &Scheduler::ContextCreated, gpu, plan_.context);
  Account(gpu, 0, EventKind::kContextCreated);
  ++contexts_created_;
  NextContext();
}

void Client::Wait(Activity what) {
  activity_ = what;
  waiting_since_ = world_.now();
}

void Client::Proceed() {
  activity_ = Activity::kNone;
  waiting_since_.reset();
  if (step_due_) return TakeStep();
  if (!to_allocate_.empty()) {
    const Piece piece = to_allocate_.back();
    to_allocate_.pop_back();
    step_due_ = plan_.piece != 0;
    const auto kind = plan_.resident_only ? GrowthKind::kPinned : GrowthKind::kSwappable;
    growth_ = GrowthRequest{piece.gpu, kind, piece.bytes, 0};
    return RequestGrowth();
  }
  if (worked_ >= plan_.work) return Exit();
  TakeStep();
}

bool Client::PassGate() {
  if (gate_ == Gate::kAdmitting && admitted_ > 0) {
    --admitted_;
    return true;
  }
  return gate_ == Gate::kOpen;
}

void Client::TakeStep() {
  if (plan_.submissions_per_collective > 0) return SubmitCollective();
  if (!PassGate()) return WaitAtGate();
  activity_ = Activity::kStep;
  ++step_;
  Time length = world_.RandomTime(plan_.step / 2, plan_.step * 3 / 2);
  if (world_.Chance(plan_.stuck_probability)) length += 5 * world_.config().scheduler.drain_limit;
  const double factor = world_.BeginKernel(plan_.gpus, plan_.fills);
  const Time takes(static_cast<std::int64_t>(static_cast<double>(length.count()) * factor));
  world_.ScheduleFor(world_.now() + takes, id_, [length](Client& self) {
    self.world_.EndKernel(self.plan_.gpus, self.plan_.fills);
    self.FinishStep(length);
  });
}

void Client::SubmitCollective() {
  if (!PassGate()) return WaitAtGate();
  activity_ = Activity::kNone;
  if (++submissions_ < plan_.submissions_per_collective) {
    const Time next = world_.now() + world_.RandomTime(Time(0), plan_.step / 4);
    return world_.ScheduleFor(next, id_, [](Client& self) { self.SubmitCollective(); });
  }
  submissions_ = 0;
  ++step_;
  ++submitted_;
  world_.CollectivesOf(job_).Submit(id_);
  if (submitted_ - completed_ > plan_.run_ahead) {
    activity_ = Activity::kStep;
  } else {
    AfterStep();
  }
}

void Client::Begin() { Proceed(); }

void Client::FinishCollective(Time length) {
  ++completed_;
  if (activity_ == Activity::kStep) return FinishStep(length);
  worked_ += length;
  if (gate_ == Gate::kClosing && IsDrained()) FinishClosing(close_serial_);
}

void Client::FinishStep(Time length) {
  worked_ += length;
  activity_ = Activity::kNone;
  if (gate_ == Gate::kClosing && IsDrained()) FinishClosing(close_serial_);
  AfterStep();
}

void Client::AfterStep() {
  step_due_ = false;
  if (world_.Chance(plan_.free_probability)) FreeSome();
  if (world_.Chance(plan_.sleep_probability)) {
    Sleep();
  } else if (world_.Chance(plan_.grow_probability)) {
    Grow(plan_.resident_only ? GrowthKind::kPinned : GrowthKind::kSwappable);
  } else if (world_.Chance(plan_.pin_probability)) {
    Grow(GrowthKind::kPinned);
  } else {
    Proceed();
  }
}

void Client::Sleep() {
  activity_ = Activity::kSleep;
  ++step_;
  idle_reported_ = false;
  const Time length = world_.RandomTime(plan_.sleep_time / 2, plan_.sleep_time * 3 / 2);
  world_.ScheduleFor(world_.now() + length, id_, [](Client& self) { self.Proceed(); });
  WatchIdle();
}

void Client::WatchIdle() {
  const auto sleeps = [](const Client& self) {
    return (self.activity_ == Activity::kSleep || self.activity_ == Activity::kPeers) &&
           self.contention_ && self.gate_ == Gate::kOpen;
  };
  if (!sleeps(*this)) return;
  world_.ScheduleFor(world_.now() + idle_after_, id_, [sleeps, step = step_](Client& self) {
    if (!sleeps(self) || self.step_ != step || self.idle_reported_) return;
    if (!self.IsDrained()) return self.WatchIdle();
    self.idle_reported_ = true;
    self.Send(EventKind::kIdle, &Scheduler::BecameIdle);
  });
}

void Client::WaitAtGate() {
  Wait(Activity::kGate);
  if (gate_ == Gate::kAdmitting) return StartClosing(admission_);
  if (gate_requested_) return;
  gate_requested_ = true;
  Send(EventKind::kOther, &Scheduler::GateRequested);
}

// ---- memory ----

void Client::Grow(GrowthKind kind) {
  const GpuId gpu = plan_.gpus[world_.Random(0, plan_.gpus.size() - 1)];
  const scheduler::Footprint& footprint = gpus_[gpu].footprint;
  const Bytes held = footprint.Swappable() + footprint.pinned;
  const Bytes granule = world_.config().granule;
  if (held + granule > plan_.max_footprint) return Proceed();
  const Bytes bytes = granule * world_.Random(1, (plan_.max_footprint - held) / granule);
  growth_ = GrowthRequest{gpu, kind, bytes, 0};
  RequestGrowth();
}

void Client::RequestGrowth() {
  growth_deferred_ = false;
  if (growth_.bytes == 0) {
    FinishGrowth();
  } else if (gate_ == Gate::kClosed && growth_.kind == GrowthKind::kPinned) {
    growth_deferred_ = true;
    WaitAtGate();
  } else {
    growth_.request = ++next_request_;
    SendGrowth();
  }
}

void Client::SendGrowth() {
  Wait(Activity::kGrowth);
  Send(EventKind::kGrowthRequested, &Scheduler::GrowthRequested, growth_.request, growth_.gpu,
       growth_.kind, growth_.bytes);
}

void Client::AllocateVirtually() {
  GpuState& state = gpus_[growth_.gpu];
  state.footprint.swapped += growth_.bytes;
  state.never_written += growth_.bytes;
  Account(growth_.gpu, 0, EventKind::kAllocated);
  SwapInPieces(growth_.gpu);
  FinishGrowth();
}

void Client::FinishGrowth() {
  growth_ = {};
  growth_deferred_ = false;
  Proceed();
}

void Client::Do(const scheduler::AnswerGrowth& order) {
  if (growth_.request != order.request) return;
  GpuState& state = gpus_[order.gpu];
  switch (order.answer) {
    case Growth::kRefused:
      if (state.footprint.Need() + growth_.bytes <= plan_.guaranteed_growth) {
        world_.checker().Fail("refused growth that the GPU could serve", world_.now());
      }
      return FinishGrowth();
    case Growth::kGranted:
      state.credit += order.credit;
      (growth_.kind == GrowthKind::kPinned ? state.footprint.pinned : state.footprint.resident) +=
          growth_.bytes;
      Account(order.gpu);
      return FinishGrowth();
    case Growth::kLater:
      if (gate_ == Gate::kClosing || gate_ == Gate::kAdmitting) {
        growth_deferred_ = true;
      } else if (gate_ == Gate::kClosed && growth_.kind == GrowthKind::kSwappable) {
        AllocateVirtually();
      } else {
        RequestGrowth();
      }
      return;
  }
}

void Client::FreeSome() {
  const GpuId gpu = plan_.gpus[world_.Random(0, plan_.gpus.size() - 1)];
  GpuState& state = gpus_[gpu];
  if (state.swapping_in > 0 || state.evict_serial != 0) return;
  const Bytes swapped = state.footprint.swapped / 2;
  const Bytes resident = state.footprint.resident / 2;
  state.footprint.swapped -= swapped;
  state.never_written -= std::min(state.never_written, swapped);
  state.footprint.resident -= resident;
  // Excess credit: of the freed memory, and what was granted for swapped memory.
  const Bytes excess = Unused(state) - std::min(Unused(state), state.footprint.swapped);
  state.credit -= excess;
  Account(gpu, excess);
  ReportSwappedIn();
}

Bytes Client::Unused(const GpuState& state) const {
  const Bytes fixed = contexts_ == Contexts::kAway ? 0 : state.footprint.Fixed();
  const Bytes held = state.footprint.resident + fixed + state.context_credit + state.swapping_in;
  return state.credit > held ? state.credit - held : 0;
}

void Client::Account(GpuId gpu, Bytes returned, EventKind kind) {
  const GpuState& state = gpus_[gpu];
  if (Held(gpu) + state.context_credit > state.credit) {
    world_.checker().Fail("client holds more memory than credit", world_.now());
  }
  Send(kind, &Scheduler::AccountChanged, gpu, state.footprint, returned, arena_);
}

}  // namespace reveza::simulator
