#include "simulator/client.h"

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

const char* Client::WaitsFor() const {
  switch (at_) {
    case At::kContext:
      return "a context";
    case At::kGate:
      return "its gate";
    case At::kGrowth:
      return "memory";
    default:
      return "nothing";
  }
}

Bytes Client::Held(GpuId gpu) const {
  const auto entry = cards_.find(gpu);
  if (entry == cards_.end()) return 0;
  const Card& card = entry->second;
  return card.books.resident + card.books.Fixed() + card.coming_in;
}

Bytes Client::HostUsed() const {
  Bytes sum = 0;
  for (const auto& [gpu, card] : cards_) sum += card.books.swapped - card.fresh;
  return sum;
}

void Client::Begin() {
  world_.Send(id_, EventKind::kOther,
              [this_id = id_, job = job_, only = plan_.resident_only](Scheduler& s, Time now) {
                s.ClientJoined(now, this_id, job, only);
              });
  NextContext();
}

void Client::Die() {
  dead_ = true;
  world_.Send(id_, EventKind::kDeath,
              [id = id_](Scheduler& s, Time now) { s.ClientLeft(now, id); });
  world_.At(world_.now(), [&world = world_, id = id_] { world.Gone(id); });
}

void Client::NextContext() {
  if (contexts_made_ == plan_.gpus.size()) {
    Proceed();
    return;
  }
  Wait(At::kContext);
  world_.Send(id_, EventKind::kContextWanted,
              [id = id_, gpu = plan_.gpus[contexts_made_]](Scheduler& s, Time now) {
                s.ContextWanted(now, id, gpu);
              });
}

void Client::Do(const scheduler::AdmitContext& order) {
  Card& card = cards_[order.gpu];
  card.credit += order.credit;
  card.context_credit = order.credit;
  waiting_since_.reset();
  at_ = At::kMaking;
  const Time made =
      world_.now() + Time(static_cast<Time::rep>(world_.Random(1'000'000, 50'000'000)));
  world_.AtFor(made, id_, [gpu = order.gpu](Client& self) { self.FinishContext(gpu); });
}

void Client::FinishContext(GpuId gpu) {
  Card& card = cards_[gpu];
  card.credit = card.credit - card.context_credit + plan_.context;
  card.context_credit = 0;
  card.books.context += plan_.context;
  world_.Send(id_, EventKind::kContextMade,
              [id = id_, gpu, overhead = plan_.context](Scheduler& s, Time now) {
                s.ContextMade(now, id, gpu, overhead);
              });
  Account(gpu, 0, EventKind::kContextMade);
  ++contexts_made_;
  NextContext();
}

void Client::Wait(At what) {
  at_ = what;
  waiting_since_ = world_.now();
}

void Client::Proceed() {
  at_ = At::kBetween;
  waiting_since_.reset();
  if (fills_) {
    TakeStep();
    return;
  }
  if (!to_allocate_.empty()) {
    const Piece piece = to_allocate_.back();
    to_allocate_.pop_back();
    fills_ = plan_.piece != 0;
    const auto kind = plan_.resident_only ? GrowthKind::kPinned : GrowthKind::kSwappable;
    growing_ = Growing{piece.gpu, kind, piece.bytes, 0};
    AskGrowth();
    return;
  }
  if (worked_ >= plan_.work) {
    Die();
    return;
  }
  TakeStep();
}

void Client::TakeStep() {
  if (gate_ != Gate::kOpen) {
    WaitAtGate();
    return;
  }
  at_ = At::kStep;
  ++step_;
  const auto average = static_cast<std::uint64_t>(plan_.step.count());
  Time length(static_cast<Time::rep>(world_.Random(average / 2, average * 3 / 2)));
  if (world_.Chance(plan_.undrainable)) length += 5 * world_.config().scheduler.drain_limit;
  step_ends_ = world_.now() + length;
  world_.AtFor(step_ends_, id_, [length](Client& self) { self.FinishStep(length); });
}

void Client::FinishStep(Time length) {
  worked_ += length;
  fills_ = false;
  at_ = At::kBetween;
  if (gate_ == Gate::kClosing) FinishClosing(close_serial_);
  if (world_.Chance(plan_.frees)) FreeSome();
  if (world_.Chance(plan_.sleeps)) {
    Sleep();
  } else if (world_.Chance(plan_.grows)) {
    Grow(plan_.resident_only ? GrowthKind::kPinned : GrowthKind::kSwappable);
  } else if (world_.Chance(plan_.pins)) {
    Grow(GrowthKind::kPinned);
  } else {
    Proceed();
  }
}

void Client::Sleep() {
  at_ = At::kSleep;
  ++step_;
  told_idle_ = false;
  const auto average = static_cast<std::uint64_t>(plan_.sleep.count());
  const Time length(static_cast<Time::rep>(world_.Random(average / 2, average * 3 / 2)));
  world_.AtFor(world_.now() + length, id_, [](Client& self) { self.Proceed(); });
  WatchIdle();
}

void Client::WatchIdle() {
  if (at_ != At::kSleep || !contention_ || gate_ != Gate::kOpen) return;
  world_.AtFor(world_.now() + idle_after_, id_, [step = step_](Client& self) {
    if (self.at_ != At::kSleep || self.step_ != step || self.told_idle_) return;
    if (!self.contention_ || self.gate_ != Gate::kOpen) return;
    self.told_idle_ = true;
    self.world_.Send(self.id_, EventKind::kIdle,
                     [id = self.id_](Scheduler& s, Time now) { s.BecameIdle(now, id); });
  });
}

void Client::WaitAtGate() {
  Wait(At::kGate);
  if (told_gate_) return;
  told_gate_ = true;
  world_.Send(id_, EventKind::kOther,
              [id = id_](Scheduler& s, Time now) { s.GateWanted(now, id); });
}

// ---- memory, as the thread sees it ----

void Client::Grow(GrowthKind kind) {
  const GpuId gpu = plan_.gpus[world_.Random(0, plan_.gpus.size() - 1)];
  const scheduler::Footprint& books = cards_[gpu].books;
  const Bytes held = books.Swappable() + books.pinned;
  const Bytes granule = world_.config().granule;
  if (held + granule > plan_.most) {
    Proceed();
    return;
  }
  const Bytes bytes = granule * world_.Random(1, (plan_.most - held) / granule);
  growing_ = Growing{gpu, kind, bytes, 0};
  AskGrowth();
}

void Client::AskGrowth() {
  growth_deferred_ = false;
  if (growing_.bytes == 0) {
    EndGrowth();
  } else if (gate_ == Gate::kClosed && growing_.kind == GrowthKind::kPinned) {
    growth_deferred_ = true;
    WaitAtGate();
  } else {
    growing_.request = ++next_request_;
    SendGrowth();
  }
}

void Client::SendGrowth() {
  Wait(At::kGrowth);
  world_.Send(id_, EventKind::kGrowthWanted,
              [id = id_, growing = growing_](Scheduler& s, Time now) {
                s.GrowthWanted(now, id, growing.request, growing.gpu, growing.kind, growing.bytes);
              });
}

void Client::AllocateVirtually() {
  Card& card = cards_[growing_.gpu];
  card.books.swapped += growing_.bytes;
  card.fresh += growing_.bytes;
  Account(growing_.gpu, 0, EventKind::kAllocated);
  SwapInPieces(growing_.gpu);
  EndGrowth();
}

void Client::EndGrowth() {
  growing_ = {};
  growth_deferred_ = false;
  Proceed();
}

void Client::Do(const scheduler::AnswerGrowth& order) {
  if (growing_.request != order.request) return;
  Card& card = cards_[order.gpu];
  switch (order.answer) {
    case Growth::kRefused:
      if (Claim(order.gpu) + growing_.bytes <= plan_.surely_served) {
        world_.checker().Fail("growth refused that the card could serve", world_.now());
      }
      EndGrowth();
      return;
    case Growth::kGranted:
      card.credit += order.credit;
      (growing_.kind == GrowthKind::kPinned ? card.books.pinned : card.books.resident) +=
          growing_.bytes;
      Account(order.gpu);
      EndGrowth();
      return;
    case Growth::kLater:
      if (gate_ == Gate::kClosing) {
        growth_deferred_ = true;
      } else if (gate_ == Gate::kClosed && growing_.kind == GrowthKind::kSwappable) {
        AllocateVirtually();
      } else {
        AskGrowth();
      }
      return;
  }
}

Bytes Client::Claim(GpuId gpu) const { return cards_.at(gpu).books.Need(); }

void Client::FreeSome() {
  const GpuId gpu = plan_.gpus[world_.Random(0, plan_.gpus.size() - 1)];
  Card& card = cards_[gpu];
  if (card.coming_in > 0 || card.evict_serial != 0) return;
  const Bytes swapped = card.books.swapped / 2;
  const Bytes resident = card.books.resident / 2;
  card.books.swapped -= swapped;
  card.fresh -= std::min(card.fresh, swapped);
  card.books.resident -= resident;
  // Credit that is now in excess: what was freed, and what had come for swapped memory.
  const Bytes excess = Unused(card) - std::min(Unused(card), card.books.swapped);
  card.credit -= excess;
  Account(gpu, excess);
  ReportSwappedIn();
}

Bytes Client::Unused(const Card& card) const {
  const Bytes held =
      card.books.resident + card.books.Fixed() + card.context_credit + card.coming_in;
  return card.credit > held ? card.credit - held : 0;
}

void Client::Account(GpuId gpu, Bytes returned, EventKind kind) {
  const Card& card = cards_[gpu];
  if (Held(gpu) + card.context_credit > card.credit) {
    world_.checker().Fail("a client holds more than it has credit for", world_.now());
  }
  world_.Send(
      id_, kind,
      [id = id_, gpu, books = card.books, returned, arena = arena_](Scheduler& s, Time now) {
        s.AccountChanged(now, id, gpu, books, returned, arena);
      });
}

}  // namespace reveza::simulator
