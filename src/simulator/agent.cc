// The side of a simulated client that obeys: gates, evictions, swap-ins.
#include <algorithm>

#include "simulator/client.h"

namespace reveza::simulator {

using scheduler::EvictFailure;
using scheduler::GrowthKind;
using scheduler::Scheduler;

namespace {

constexpr Time kInstant = std::chrono::microseconds(10);
constexpr Bytes kChunk = 512 * kMiB;

}  // namespace

void Client::Obey(const scheduler::Decision& decision) {
  std::visit([this](const auto& order) { Do(order); }, decision);
}

void Client::Do(const scheduler::OpenGate&) {
  if (gate_ == Gate::kClosing) world_.checker().Fail("a closing gate is opened", world_.now());
  for (const auto& [gpu, card] : cards_) {
    // It allocated before the order reached it: the order is stale.
    if (card.books.swapped > 0 || card.coming_in > 0) return;
  }
  gate_ = Gate::kOpen;
  GateIsOpen();
}

void Client::GateIsOpen() {
  told_gate_ = false;
  told_idle_ = false;
  if (growth_deferred_) {
    AskGrowth();
  } else if (at_ == At::kGate) {
    Proceed();
  } else {
    WatchIdle();
  }
}

void Client::Do(const scheduler::CloseGate& order) {
  if (gate_ == Gate::kClosed) {
    // The OpenGate before this was stale and left the gate closed.
    world_.Send(id_, EventKind::kOther, [id = id_, serial = order.serial](Scheduler& s, Time now) {
      s.GateClosed(now, id, serial);
    });
    return;
  }
  close_serial_ = order.serial;
  told_gate_ = false;
  gate_ = Gate::kClosing;
  if (at_ != At::kStep) {
    world_.AtFor(world_.now() + kInstant, id_,
                 [serial = order.serial](Client& self) { self.FinishClosing(serial); });
  } else if (step_ends_ - world_.now() > order.drain_limit) {
    world_.AtFor(world_.now() + order.drain_limit, id_,
                 [serial = order.serial](Client& self) { self.FailDrain(serial); });
  }
}

void Client::FinishClosing(std::uint32_t serial) {
  if (gate_ != Gate::kClosing || close_serial_ != serial) return;
  gate_ = Gate::kClosed;
  world_.Send(id_, EventKind::kOther,
              [id = id_, serial](Scheduler& s, Time now) { s.GateClosed(now, id, serial); });
  if (!growth_deferred_) return;
  if (growing_.kind == GrowthKind::kSwappable) {
    AllocateVirtually();
  } else {
    WaitAtGate();
  }
}

void Client::FailDrain(std::uint32_t serial) {
  if (gate_ != Gate::kClosing || close_serial_ != serial) return;
  gate_ = Gate::kOpen;
  ++drains_failed_;
  world_.Send(id_, EventKind::kDrainFailed, [id = id_, serial](Scheduler& s, Time now) {
    s.DrainFailed(now, id, serial, scheduler::DrainFailure::kLimit);
  });
  GateIsOpen();
}

void Client::Do(const scheduler::Evict& order) {
  if (gate_ != Gate::kClosed) world_.checker().Fail("an open client is evicted", world_.now());
  swap_in_serial_ = 0;
  Card& card = cards_[order.gpu];
  if (card.evict_serial != 0) world_.checker().Fail("two evictions at once", world_.now());
  card.evict_serial = order.serial;
  card.evict_left = order.bytes;
  const Bytes unused = std::min(Unused(card), card.evict_left);
  card.evict_left -= unused;
  card.credit -= unused;
  if (unused > 0) Account(order.gpu, unused);
  EvictPieces(order.gpu);
}

void Client::EvictPieces(GpuId gpu) {
  Card& card = cards_[gpu];
  if (card.piece_going_out) return;
  if (card.books.resident == 0 && card.coming_in > 0) return;  // goes on when that has come
  if (card.evict_left == 0 || card.books.resident == 0) {
    FinishEviction(gpu, EvictFailure::kNone);
    return;
  }
  if (world_.Chance(plan_.evict_fails)) {
    FinishEviction(gpu, EvictFailure::kHostMemory);
    return;
  }
  const Bytes piece = std::min(world_.config().granule, card.books.resident);
  card.piece_going_out = true;
  const Bytes needed = HostUsed() + piece;
  GrowArena(needed);
  if (needed <= arena_) {
    SendOut(gpu, piece, card.evict_serial);
  } else {
    world_.AtFor(arena_chunks_.lower_bound(needed)->second, id_,
                 [gpu, piece, serial = card.evict_serial](Client& self) {
                   self.SendOut(gpu, piece, serial);
                 });
  }
}

void Client::SendOut(GpuId gpu, Bytes piece, std::uint32_t serial) {
  const Time done = world_.Copy(gpu, Direction::kOut, piece);
  world_.AtFor(done, id_, [gpu, piece, serial](Client& self) {
    Card& now = self.cards_[gpu];
    now.piece_going_out = false;
    if (now.evict_serial != serial) {
      if (now.evict_serial != 0) self.EvictPieces(gpu);
      return;
    }
    now.books.resident -= piece;
    now.books.swapped += piece;
    now.credit -= piece;
    now.evict_left -= std::min(piece, now.evict_left);
    self.Account(gpu, piece);
    self.EvictPieces(gpu);
  });
}

void Client::FinishEviction(GpuId gpu, EvictFailure failure) {
  Card& card = cards_[gpu];
  const std::uint32_t serial = card.evict_serial;
  card.evict_serial = 0;
  card.evict_left = 0;
  world_.Send(id_, EventKind::kOther, [id = id_, serial, gpu, failure](Scheduler& s, Time now) {
    s.Evicted(now, id, serial, gpu, 0, failure);
  });
}

void Client::Do(const scheduler::SwapIn& order) {
  swap_in_serial_ = order.serial;
  for (const auto& [gpu, card] : cards_) SwapInPieces(gpu);
  ReportSwappedIn();
}

void Client::Do(const scheduler::GiveCredit& order) {
  cards_[order.gpu].credit += order.bytes;
  SwapInPieces(order.gpu);
}

void Client::SwapInPieces(GpuId gpu) {
  Card& card = cards_[gpu];
  if (swap_in_serial_ == 0 || card.coming_in > 0) return;
  Bytes piece = std::min({world_.config().granule, card.books.swapped, Unused(card)});
  if (piece == 0) return;
  const bool fresh = card.fresh > 0;
  if (fresh) piece = std::min(piece, card.fresh);
  card.coming_in = piece;
  const Time done = fresh ? world_.now() + kInstant : world_.Copy(gpu, Direction::kIn, piece);
  world_.AtFor(done, id_, [gpu, piece, fresh](Client& self) {
    Card& now = self.cards_[gpu];
    now.coming_in = 0;
    now.books.resident += piece;
    now.books.swapped -= piece;
    if (fresh) now.fresh -= piece;
    self.Account(gpu);
    if (now.evict_serial != 0) {
      self.EvictPieces(gpu);
      return;
    }
    self.SwapInPieces(gpu);
    self.ReportSwappedIn();
  });
}

void Client::ReportSwappedIn() {
  if (swap_in_serial_ == 0) return;
  for (const auto& [gpu, card] : cards_) {
    if (card.books.swapped > 0 || card.coming_in > 0) return;
  }
  world_.Send(id_, EventKind::kOther, [id = id_, serial = swap_in_serial_](Scheduler& s, Time now) {
    s.SwappedIn(now, id, serial);
  });
  swap_in_serial_ = 0;
}

void Client::Do(const scheduler::SetContention& order) {
  contention_ = order.waiting;
  idle_after_ = order.idle_after;
  told_idle_ = false;
  WatchIdle();
}

void Client::Do(const scheduler::PrepareArena& order) { GrowArena(order.bytes); }

// What is being pinned comes first; each chunk can be used as soon as it is there.
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
  world_.AtFor(ready, id_, [bytes](Client& self) {
    self.arena_ = std::max(self.arena_, bytes);
    for (const auto& [gpu, card] : self.cards_) self.Account(gpu);
  });
}

void Client::Resume() {
  if (dead_) return;
  const bool closing = gate_ == Gate::kClosing;
  if (closing) gate_ = Gate::kOpen;
  // Without a GPU it has nothing to resume with: it is like a new one, whose gate is closed.
  if (cards_.empty()) gate_ = Gate::kClosed;
  swap_in_serial_ = 0;
  contention_ = false;
  world_.Send(id_, EventKind::kOther,
              [id = id_, job = job_, only = plan_.resident_only](Scheduler& s, Time now) {
                s.ClientJoined(now, id, job, only);
              });
  for (auto& [gpu, card] : cards_) {
    card.evict_serial = 0;
    card.evict_left = 0;
    card.context_credit = 0;
    card.credit = Held(gpu);
    world_.Send(
        id_, EventKind::kResumed,
        [id = id_, gpu, books = card.books, credit = card.credit, open = gate_ == Gate::kOpen](
            Scheduler& s, Time now) { s.ClientResumed(now, id, gpu, books, credit, open); });
    Account(gpu, 0, EventKind::kResumed);
  }
  told_gate_ = false;
  if (at_ == At::kContext) NextContext();
  if (at_ == At::kGrowth && !growth_deferred_) {
    SendGrowth();
  } else if (at_ == At::kGate && !closing) {
    WaitAtGate();
  }
  if (closing && gate_ == Gate::kOpen) GateIsOpen();
}

}  // namespace reveza::simulator
