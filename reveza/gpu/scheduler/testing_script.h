// Test helper: a scheduler and clients that carry out every decision immediately, unless the test
// holds their answers back. Time advances only in Wait().
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::scheduler {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Script {
 public:
  struct Card {
    Footprint footprint;
    Bytes credit = 0;
  };
  struct ClientState {
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
    DeliverDecisions();
  }

  void Join(ClientId client, JobId job, bool resident_only = false) {
    clients_[client];
    scheduler_.ClientJoined(now_, client, job, resident_only);
    DeliverDecisions();
  }

  void MakeContext(ClientId client, Bytes overhead = 512 * kMiB, GpuId gpu = kGpu) {
    scheduler_.ContextRequested(now_, client, gpu);
    DeliverDecisions();
    FinishContext(client, overhead, gpu);
  }

  void FinishContext(ClientId client, Bytes overhead = 512 * kMiB, GpuId gpu = kGpu) {
    Card& card = clients_.at(client).cards[gpu];
    card.footprint.context += overhead;
    card.credit += overhead;
    scheduler_.ContextCreated(now_, client, gpu, overhead);
    Account(client, gpu);
    DeliverDecisions();
  }

  // Adds a job of one client with a context and `bytes` allocated behind its closed gate.
  void AddClient(ClientId client, Bytes bytes, GpuId gpu = kGpu, Bytes overhead = 512 * kMiB) {
    Join(client, client);
    MakeContext(client, overhead, gpu);
    Allocate(client, bytes, gpu);
  }

  // Allocates swappable memory behind a closed gate, which needs no credit.
  void Allocate(ClientId client, Bytes bytes, GpuId gpu = kGpu) {
    clients_.at(client).cards[gpu].footprint.swapped += bytes;
    Account(client, gpu);
    DeliverDecisions();
  }

  // Frees resident memory.
  void Free(ClientId client, Bytes bytes, GpuId gpu = kGpu) {
    Card& card = clients_.at(client).cards[gpu];
    card.footprint.resident -= bytes;
    card.credit -= bytes;
    Account(client, gpu, bytes);
    DeliverDecisions();
  }

  void SetPolicy(JobId job, const Policy& policy) {
    scheduler_.SetPolicy(now_, job, policy);
    DeliverDecisions();
  }

  void SetAccount(JobId job, AccountId account, const Quota& quota) {
    scheduler_.SetAccount(now_, job, account, quota);
    DeliverDecisions();
  }

  // The client can take its contexts off the card.
  void MakeMovable(ClientId client) { scheduler_.SetMovableContexts(now_, client); }

  void Want(ClientId client) {
    scheduler_.GateRequested(now_, client);
    DeliverDecisions();
  }

  void Idle(ClientId client) {
    scheduler_.BecameIdle(now_, client);
    DeliverDecisions();
  }

  void Grow(ClientId client, std::uint32_t request, Bytes bytes,
            GrowthKind kind = GrowthKind::kSwappable, GpuId gpu = kGpu) {
    requests_[request] = {client, gpu, kind, bytes};
    scheduler_.GrowthRequested(now_, client, request, gpu, kind, bytes);
    DeliverDecisions();
  }

  void Leave(ClientId client) {
    clients_.erase(client);
    scheduler_.ClientLeft(now_, client);
    DeliverDecisions();
  }

  // Advances time by `duration`, with a Tick at each requested wake-up.
  void Wait(Time duration) {
    const Time end = now_ + duration;
    for (auto next = scheduler_.NextWakeup(); next && *next <= end;
         next = scheduler_.NextWakeup()) {
      now_ = *next;
      ++ticks;
      scheduler_.Tick(now_);
      DeliverDecisions();
    }
    now_ = end;
  }

  // Release answers that were held back.
  void CloseHeldGate(ClientId client) {
    const std::uint32_t serial = Take(closing_, client);
    clients_.at(client).open = false;
    scheduler_.GateClosed(now_, client, serial);
    DeliverDecisions();
  }
  void FailHeldGate(ClientId client) {
    scheduler_.DrainFailed(now_, client, Take(closing_, client));
    DeliverDecisions();
  }
  void ReportDraining(ClientId client) {
    scheduler_.Draining(now_, client, closing_.at(client));
    DeliverDecisions();
  }
  // Evicts one piece of at most `bytes`.
  void EvictHeldPiece(ClientId client, Bytes bytes) {
    Evict& order = evicting_.at(client);
    MoveOut(client, order.gpu, std::min(bytes, order.bytes));
    order.bytes -= std::min(bytes, order.bytes);
    DeliverDecisions();
  }
  void FinishHeldEviction(ClientId client, EvictFailure failure = EvictFailure::kNone) {
    const Evict order = evicting_.at(client);
    evicting_.erase(client);
    if (failure == EvictFailure::kNone) MoveOut(client, order.gpu, order.bytes);
    scheduler_.Evicted(now_, client, order.serial, order.gpu, failure);
    DeliverDecisions();
  }
  void FinishHeldSwapIn(ClientId client) {
    hold_swap_ins = false;
    SwapInMore(client);
    DeliverDecisions();
  }
  void FinishHeldRelease(ClientId client) {
    scheduler_.ContextsReleased(now_, client, Take(releasing_, client), release_outcome);
    DeliverDecisions();
  }
  bool IsReleasing(ClientId client) const { return releasing_.contains(client); }
  bool IsClosing(ClientId client) const { return closing_.contains(client); }
  bool IsEvicting(ClientId client) const { return evicting_.contains(client); }

  void SetExternal(Bytes bytes, GpuId gpu = kGpu) {
    scheduler_.SetExternal(now_, gpu, bytes);
    DeliverDecisions();
  }

  // Reports a client's footprint.
  void Account(ClientId client, GpuId gpu = kGpu, Bytes returned = 0) {
    const ClientState& client_state = clients_.at(client);
    scheduler_.AccountChanged(now_, client, gpu, client_state.cards.at(gpu).footprint, returned,
                              client_state.arena);
  }

  // Carries out all decisions, including those that follow from them.
  void DeliverDecisions() {
    for (auto decisions = scheduler_.TakeDecisions(); !decisions.empty();
         decisions = scheduler_.TakeDecisions()) {
      for (const Decision& decision : decisions) {
        log.push_back(decision);
        std::visit([this](const auto& order) { Do(order); }, decision);
      }
    }
  }

  bool Open(ClientId client) const { return clients_.at(client).open; }
  const Card& CardOf(ClientId client, GpuId gpu = kGpu) { return clients_.at(client).cards[gpu]; }
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

  // Returns all decisions of one kind so far.
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
  bool hold_swap_ins = false;  // a client that hangs during one
  bool hold_releases = false;  // of contexts
  ContextRelease release_outcome = ContextRelease::kReleased;
  bool hold_allocations = false;  // a client that does not use what it may allocate

 private:
  struct PendingRequest {
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
    Card& card = clients_.at(client).cards.at(gpu);
    const Bytes moved = std::min(card.footprint.resident, bytes);
    card.footprint.resident -= moved;
    card.footprint.swapped += moved;
    card.credit -= std::min(card.credit, bytes);
    Account(client, gpu, bytes);
  }

  // Swaps in as much as the credit allows; reports SwappedIn when complete.
  void SwapInMore(ClientId client) {
    ClientState& client_state = clients_.at(client);
    if (client_state.swap_in == 0 || hold_swap_ins) return;
    bool complete = true;
    for (auto& [gpu, card] : client_state.cards) {
      const Bytes held = card.footprint.resident + card.footprint.Fixed();
      const Bytes bytes = std::min(card.footprint.swapped, card.credit - held);
      card.footprint.resident += bytes;
      card.footprint.swapped -= bytes;
      complete = complete && card.footprint.swapped == 0;
      if (bytes > 0) Account(client, gpu);
    }
    if (complete) scheduler_.SwappedIn(now_, client, std::exchange(client_state.swap_in, 0));
  }

  void Do(const AdmitContext&) {}
  void Do(const RefuseContext&) {}
  void Do(const AnswerGrowth& answer) {
    answers_[answer.request] = answer.answer;
    const PendingRequest growth = requests_.at(answer.request);
    Card& card = clients_.at(answer.client).cards[answer.gpu];
    card.credit += answer.credit;
    if (answer.answer == Growth::kRefused || hold_allocations) return;
    const bool granted = answer.answer == Growth::kGranted;
    if (growth.kind == GrowthKind::kPinned) {
      card.footprint.pinned += granted ? growth.bytes : 0;
    } else {
      (granted ? card.footprint.resident : card.footprint.swapped) += growth.bytes;
    }
    Account(answer.client, answer.gpu);
  }
  void Do(const OpenGate& order) { clients_.at(order.client).open = true; }
  void Do(const CloseGate& order) {
    if (hold_gates) {
      closing_[order.client] = order.serial;
      return;
    }
    clients_.at(order.client).open = false;
    scheduler_.GateClosed(now_, order.client, order.serial);
  }
  void Do(const Evict& order) {
    clients_.at(order.client).swap_in = 0;
    evicting_.insert_or_assign(order.client, order);
    if (hold_evictions) return;
    evicting_.erase(order.client);
    MoveOut(order.client, order.gpu, order.bytes);
    scheduler_.Evicted(now_, order.client, order.serial, order.gpu, EvictFailure::kNone);
  }
  void Do(const SwapIn& order) {
    clients_.at(order.client).swap_in = order.serial;
    SwapInMore(order.client);
  }
  void Do(const GiveCredit& order) {
    clients_.at(order.client).cards[order.gpu].credit += order.bytes;
    SwapInMore(order.client);
  }
  void Do(const SetContention&) {}
  void Do(const SetQueueBound&) {}
  void Do(const PrepareArena&) {}
  void Do(const ReleaseContexts& order) {
    if (release_outcome == ContextRelease::kReleased) {
      for (auto& [gpu, card] : clients_.at(order.client).cards) card.credit = 0;
    }
    if (hold_releases) {
      releasing_[order.client] = order.serial;
    } else {
      scheduler_.ContextsReleased(now_, order.client, order.serial, release_outcome);
    }
  }
  void Do(const RestoreContexts& order) {
    for (auto& [gpu, card] : clients_.at(order.client).cards) card.credit = card.footprint.Fixed();
    scheduler_.ContextsRestored(now_, order.client, order.serial);
  }

  Scheduler scheduler_;
  Time now_{0};
  std::map<ClientId, ClientState> clients_;
  std::map<std::uint32_t, PendingRequest> requests_;
  std::map<std::uint32_t, Growth> answers_;
  std::map<ClientId, std::uint32_t> closing_;
  std::map<ClientId, std::uint32_t> releasing_;
  std::map<ClientId, Evict> evicting_;
};

}  // namespace reveza::scheduler
