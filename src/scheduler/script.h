// For tests: a scheduler and clients that do at once, and well, whatever they are told, unless a
// test holds their answers back. Time passes only when a test says so.
//
// Thread-safety: none.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/scheduler.h"

namespace reveza::scheduler {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Script {
 public:
  struct Card {
    Footprint books;
    Bytes credit = 0;
  };
  struct Person {
    std::map<GpuId, Card> cards;
    bool open = false;
    std::uint32_t swap_in = 0;
    Bytes arena = 0;
  };

  static constexpr GpuId kGpu = 0;

  explicit Script(Config config = DefaultConfig(), Bytes budget = 16 * kGiB) : scheduler_(config) {
    SetBudget(kGpu, budget);
  }

  static Config DefaultConfig() {
    Config config;
    config.host_budget = 256 * kGiB;
    return config;
  }

  void SetBudget(GpuId gpu, Bytes budget) {
    scheduler_.SetGpu(now_, gpu, GpuConfig{budget, budget, 64 * kMiB});
    Obey();
  }

  void Join(ClientId client, JobId job, bool resident_only = false) {
    people_[client];
    scheduler_.ClientJoined(now_, client, job, resident_only);
    Obey();
  }

  void MakeContext(ClientId client, Bytes overhead = 512 * kMiB, GpuId gpu = kGpu) {
    scheduler_.ContextWanted(now_, client, gpu);
    Obey();
    FinishContext(client, overhead, gpu);
  }

  void FinishContext(ClientId client, Bytes overhead = 512 * kMiB, GpuId gpu = kGpu) {
    Card& card = people_.at(client).cards[gpu];
    card.books.context += overhead;
    card.credit += overhead;
    scheduler_.ContextMade(now_, client, gpu, overhead);
    Account(client, gpu);
    Obey();
  }

  // A job of one client with a context and `bytes` allocated behind its closed gate.
  void Newcomer(ClientId client, Bytes bytes, GpuId gpu = kGpu, Bytes overhead = 512 * kMiB) {
    Join(client, client);
    MakeContext(client, overhead, gpu);
    Allocate(client, bytes, gpu);
  }

  // Behind a closed gate: no credit.
  void Allocate(ClientId client, Bytes bytes, GpuId gpu = kGpu) {
    people_.at(client).cards[gpu].books.swapped += bytes;
    Account(client, gpu);
    Obey();
  }

  // Gives resident memory back.
  void Free(ClientId client, Bytes bytes, GpuId gpu = kGpu) {
    Card& card = people_.at(client).cards[gpu];
    card.books.resident -= bytes;
    card.credit -= bytes;
    Account(client, gpu, bytes);
    Obey();
  }

  void Want(ClientId client) {
    scheduler_.GateWanted(now_, client);
    Obey();
  }

  void Idle(ClientId client) {
    scheduler_.BecameIdle(now_, client);
    Obey();
  }

  void Grow(ClientId client, std::uint32_t request, Bytes bytes,
            GrowthKind kind = GrowthKind::kSwappable, GpuId gpu = kGpu) {
    growing_[request] = {client, gpu, kind, bytes};
    scheduler_.GrowthWanted(now_, client, request, gpu, kind, bytes);
    Obey();
  }

  void Leave(ClientId client) {
    people_.erase(client);
    scheduler_.ClientLeft(now_, client);
    Obey();
  }

  // Lets time pass, with a Tick wherever the scheduler asked for one.
  void Wait(Time duration) {
    const Time end = now_ + duration;
    for (auto next = scheduler_.NextWakeup(); next && *next <= end;
         next = scheduler_.NextWakeup()) {
      now_ = *next;
      ++ticks;
      scheduler_.Tick(now_);
      Obey();
    }
    now_ = end;
  }

  // Answers that were held back.
  void CloseHeldGate(ClientId client) {
    const std::uint32_t serial = Take(closing_, client);
    people_.at(client).open = false;
    scheduler_.GateClosed(now_, client, serial);
    Obey();
  }
  void FailHeldGate(ClientId client) {
    scheduler_.DrainFailed(now_, client, Take(closing_, client), DrainFailure::kLimit);
    Obey();
  }
  // One piece of an eviction, or all that is left of it.
  void EvictHeldPiece(ClientId client, Bytes bytes) {
    Evict& order = evicting_.at(client);
    MoveOut(client, order.gpu, std::min(bytes, order.bytes));
    order.bytes -= std::min(bytes, order.bytes);
    Obey();
  }
  void FinishHeldEviction(ClientId client, EvictFailure failure = EvictFailure::kNone) {
    const Evict order = evicting_.at(client);
    evicting_.erase(client);
    if (failure == EvictFailure::kNone) MoveOut(client, order.gpu, order.bytes);
    scheduler_.Evicted(now_, client, order.serial, order.gpu, order.bytes, failure);
    Obey();
  }
  bool IsClosing(ClientId client) const { return closing_.contains(client); }
  bool IsEvicting(ClientId client) const { return evicting_.contains(client); }

  void SetExternal(Bytes bytes, GpuId gpu = kGpu) {
    scheduler_.SetExternal(now_, gpu, bytes);
    Obey();
  }

  // Tells the scheduler what a client holds.
  void Account(ClientId client, GpuId gpu = kGpu, Bytes returned = 0) {
    const Person& person = people_.at(client);
    scheduler_.AccountChanged(now_, client, gpu, person.cards.at(gpu).books, returned,
                              person.arena);
  }

  // Carries out all decisions, and what follows from them.
  void Obey() {
    for (auto decisions = scheduler_.TakeDecisions(); !decisions.empty();
         decisions = scheduler_.TakeDecisions()) {
      for (const Decision& decision : decisions) {
        log.push_back(decision);
        std::visit([this](const auto& order) { Do(order); }, decision);
      }
    }
  }

  bool Open(ClientId client) const { return people_.at(client).open; }
  const Card& CardOf(ClientId client, GpuId gpu = kGpu) { return people_.at(client).cards[gpu]; }
  Growth AnswerTo(std::uint32_t request) const { return answers_.at(request); }
  bool Answered(std::uint32_t request) const { return answers_.contains(request); }

  JobView JobOf(JobId id) const {
    for (const JobView& job : scheduler_.Jobs()) {
      if (job.id == id) return job;
    }
    return {};
  }
  ClientView ClientOf(ClientId id) const {
    for (const ClientView& client : scheduler_.Clients()) {
      if (client.id == id) return client;
    }
    return {};
  }
  GpuView GpuOf(GpuId id = kGpu) const {
    for (const GpuView& gpu : scheduler_.Gpus()) {
      if (gpu.id == id) return gpu;
    }
    return {};
  }

  // The decisions of one kind so far.
  template <typename Kind>
  std::vector<Kind> All() const {
    std::vector<Kind> all;
    for (const Decision& decision : log) {
      if (const auto* order = std::get_if<Kind>(&decision)) all.push_back(*order);
    }
    return all;
  }

  Scheduler& scheduler() { return scheduler_; }
  Time now() const { return now_; }

  std::vector<Decision> log;
  std::uint64_t ticks = 0;
  bool hold_gates = false;
  bool hold_evictions = false;

 private:
  struct Growing {
    ClientId client;
    GpuId gpu;
    GrowthKind kind;
    Bytes bytes;
  };

  static std::uint32_t Take(std::map<ClientId, std::uint32_t>& orders, ClientId client) {
    const std::uint32_t serial = orders.at(client);
    orders.erase(client);
    return serial;
  }

  void MoveOut(ClientId client, GpuId gpu, Bytes bytes) {
    Card& card = people_.at(client).cards.at(gpu);
    const Bytes moved = std::min(card.books.resident, bytes);
    card.books.resident -= moved;
    card.books.swapped += moved;
    card.credit -= std::min(card.credit, bytes);
    Account(client, gpu, bytes);
  }

  // Brings in what there is credit for; at the end says so.
  void SwapInMore(ClientId client) {
    Person& person = people_.at(client);
    if (person.swap_in == 0) return;
    bool complete = true;
    for (auto& [gpu, card] : person.cards) {
      const Bytes held = card.books.resident + card.books.Fixed();
      const Bytes bytes = std::min(card.books.swapped, card.credit - held);
      card.books.resident += bytes;
      card.books.swapped -= bytes;
      complete = complete && card.books.swapped == 0;
      if (bytes > 0) Account(client, gpu);
    }
    if (complete) scheduler_.SwappedIn(now_, client, std::exchange(person.swap_in, 0));
  }

  void Do(const AdmitContext&) {}
  void Do(const AnswerGrowth& answer) {
    answers_[answer.request] = answer.answer;
    const Growing growth = growing_.at(answer.request);
    Card& card = people_.at(answer.client).cards[answer.gpu];
    card.credit += answer.credit;
    if (answer.answer == Growth::kRefused) return;
    const bool granted = answer.answer == Growth::kGranted;
    if (growth.kind == GrowthKind::kPinned) {
      card.books.pinned += granted ? growth.bytes : 0;
    } else {
      (granted ? card.books.resident : card.books.swapped) += growth.bytes;
    }
    Account(answer.client, answer.gpu);
  }
  void Do(const OpenGate& order) { people_.at(order.client).open = true; }
  void Do(const CloseGate& order) {
    if (hold_gates) {
      closing_[order.client] = order.serial;
      return;
    }
    people_.at(order.client).open = false;
    scheduler_.GateClosed(now_, order.client, order.serial);
  }
  void Do(const Evict& order) {
    people_.at(order.client).swap_in = 0;
    evicting_.insert_or_assign(order.client, order);
    if (hold_evictions) return;
    evicting_.erase(order.client);
    MoveOut(order.client, order.gpu, order.bytes);
    scheduler_.Evicted(now_, order.client, order.serial, order.gpu, order.bytes,
                       EvictFailure::kNone);
  }
  void Do(const SwapIn& order) {
    people_.at(order.client).swap_in = order.serial;
    SwapInMore(order.client);
  }
  void Do(const GiveCredit& order) {
    people_.at(order.client).cards[order.gpu].credit += order.bytes;
    SwapInMore(order.client);
  }
  void Do(const SetContention&) {}
  void Do(const PrepareArena&) {}

  Scheduler scheduler_;
  Time now_{0};
  std::map<ClientId, Person> people_;
  std::map<std::uint32_t, Growing> growing_;
  std::map<std::uint32_t, Growth> answers_;
  std::map<ClientId, std::uint32_t> closing_;
  std::map<ClientId, Evict> evicting_;
};

}  // namespace reveza::scheduler
