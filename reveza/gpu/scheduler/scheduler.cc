#include "reveza/gpu/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace {

// A client with swapped memory, or without its contexts, has a closed gate: it ignored the OpenGate
// that was in flight when it said so.
void CloseStaleGate(Client& client) {
  if (client.gate == Gate::kOpen) client.gate = Gate::kClosed;
}

Ledger& AdvanceTo(Ledger& ledger, Time now) {
  ledger.now = std::max(ledger.now, now);
  return ledger;
}

// Returns the client that an event concerns.
Client* Touched(Ledger& ledger, ClientId id) {
  Client* client = ledger.Find(id);
  if (client != nullptr) Touch(ledger, ledger.jobs.at(client->job));
  return client;
}

// Returns the client that sent an event: it answers.
Client* Heard(Ledger& ledger, ClientId id) {
  Client* client = Touched(ledger, id);
  if (client == nullptr) return nullptr;
  client->unresponsive = false;
  client->swap_in_deadline.reset();
  return client;
}

// Returns the client's holding on a known GPU, creating it if necessary; else nullptr.
Holding* HoldingOf(Ledger& ledger, ClientId id, GpuId gpu) {
  Client* client = Touched(ledger, id);
  if (client == nullptr || !ledger.gpus.contains(gpu)) return nullptr;
  const auto [entry, fresh] = client->gpus.try_emplace(gpu);
  if (fresh) Register(ledger, ledger.jobs.at(client->job));
  return &entry->second;
}

// Raises the credit to what a client physically holds: contexts grow by themselves.
void CoverHoldings(const Client& client, Holding& holding) {
  if (holding.creating_context || client.contexts == Contexts::kAway) return;
  const Bytes held = holding.footprint.resident + holding.footprint.Fixed();
  holding.credit = std::max(holding.credit, held);
}

void ApplyAccount(const Client& client, Holding& holding, const Footprint& footprint,
                  Bytes returned) {
  holding.credit -= std::min(holding.credit, returned);
  holding.evict_left -= std::min(holding.evict_left, returned);
  if (footprint.pinned > holding.footprint.pinned) {
    holding.pinned_in_flight -=
        std::min(holding.pinned_in_flight, footprint.pinned - holding.footprint.pinned);
  }
  if (footprint.resident > holding.footprint.resident) {
    holding.backed += footprint.resident - holding.footprint.resident;
  }
  holding.backed = std::min(holding.backed, footprint.Swappable());
  if (footprint.Swappable() > holding.footprint.Swappable()) holding.permitted = 0;
  holding.footprint = footprint;
  CoverHoldings(client, holding);
  const Bytes held = footprint.resident + footprint.Fixed() + holding.context_credit;
  holding.pinned_in_flight =
      std::min(holding.pinned_in_flight, holding.credit > held ? holding.credit - held : 0);
}

}  // namespace

Scheduler::Scheduler(Config config) : ledger_(std::make_unique<Ledger>(config)) {}
Scheduler::~Scheduler() = default;

void Scheduler::SetGpu(Time now, GpuId gpu, const GpuConfig& config) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Gpu& card = ledger.gpus[gpu];
  card.config = config;
  Touch(ledger, gpu);
  // What they may need of the host depends on the granule.
  UnparkAll(ledger, card);
  for (Job* job : card.jobs) Touch(ledger, *job);
  RunPasses(ledger);
}

void Scheduler::SetExternal(Time now, GpuId gpu, Bytes bytes) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const auto entry = ledger.gpus.find(gpu);
  if (entry == ledger.gpus.end()) return;
  if (entry->second.external != bytes) entry->second.external_changed = ledger.now;
  entry->second.external = bytes;
  Touch(ledger, gpu);
  RunPasses(ledger);
}

void Scheduler::ClientJoined(Time now, ClientId client, JobId job, bool resident_only) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  if (ledger.job_of.contains(client)) return;
  const auto [entry, fresh] = ledger.jobs.try_emplace(job);
  if (fresh) {
    entry->second.id = job;
    entry->second.joined = entry->second.rank = ++ledger.next_rank;
    entry->second.idle_since = ledger.now;
  }
  ledger.job_of[client] = job;
  Client& added = entry->second.clients[client];
  added.id = client;
  added.job = job;
  added.resident_only = resident_only;
  Register(ledger, entry->second);
  RunPasses(ledger);
}

void Scheduler::SetPolicy(Time now, JobId id, const Policy& policy) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const auto job = ledger.jobs.find(id);
  if (job == ledger.jobs.end() || job->second.policy == policy) return;
  Touch(ledger, job->second);
  SetPolicyOf(ledger, job->second, policy);
  RunPasses(ledger);
}

void Scheduler::SetAccount(Time now, JobId id, AccountId account, const Quota& quota) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const auto job = ledger.jobs.find(id);
  if (job == ledger.jobs.end()) return;
  Touch(ledger, job->second);
  job->second.account = account;
  ledger.quotas[account] = quota;
  if (quota != Quota{}) ledger.has_quotas = true;
  RunPasses(ledger);
}

Bytes Scheduler::MaxRequest(JobId job, GpuId gpu) const {
  return ledger_->gpus.contains(gpu) ? ledger_->MaxRequest(job, gpu) : 0;
}

std::optional<Scheduler::Shortage> Scheduler::FindShortage(JobId id, Bytes request) const {
  const auto job = ledger_->jobs.find(id);
  if (job == ledger_->jobs.end()) return std::nullopt;
  for (const GpuId gpu : job->second.uses) {
    if (request <= job->second.policy.request) break;
    const Bytes max_request = ledger_->MaxRequestBesideClaims(job->second, gpu);
    if (request > max_request) return Shortage{gpu, max_request};
  }
  return std::nullopt;
}

void Scheduler::ClientLeft(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  if (Touched(ledger, client) == nullptr) return;
  ledger.growths.remove_if([&](const auto& growth) { return growth.client == client; });
  ledger.contexts.remove_if([&](const auto& context) { return context.client == client; });
  Job& job = ledger.jobs.at(ledger.job_of.at(client));
  for (const GpuId id : job.uses) {
    Gpu& gpu = ledger.gpus.at(id);
    if (gpu.context_creator == client) gpu.context_creator.reset();
    if (gpu.approved_context == client) gpu.approved_context.reset();
  }
  ledger.job_of.erase(client);
  job.clients.erase(client);
  if (job.clients.empty()) {
    Unregister(ledger, job);
    ledger.jobs.erase(job.id);
  } else {
    Register(ledger, job);
    TryFinishLeaving(ledger, job);
  }
  RunPasses(ledger);
}

void Scheduler::ClientResumed(Time now, ClientId client, GpuId gpu, const Footprint& footprint,
                              Bytes credit, bool gate_open) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Holding* holding = HoldingOf(ledger, client, gpu);
  if (holding == nullptr) return;
  ledger.takeover_settled_at = ledger.now + ledger.config.takeover_settle_time;
  holding->footprint = footprint;
  holding->backed = footprint.Swappable();
  Client& resumed = *ledger.Find(client);
  holding->credit = resumed.contexts == Contexts::kAway ? 0 : credit;
  CoverHoldings(resumed, *holding);
  ledger.jobs.at(resumed.job).idle_since = ledger.now;
  resumed.host_reserved = std::max(resumed.host_reserved, resumed.Swapped());
  UpdatePeak(ledger, gpu, resumed, footprint.Swappable());
  if (footprint.swapped > 0) CloseStaleGate(resumed);
  if (!gate_open || footprint.swapped > 0) {
    // It may already wait at its gate, which it reports only once.
    resumed.wants_gate = resumed.gate == Gate::kClosed;
  } else if (resumed.gate == Gate::kClosed) {
    AdoptOpenGate(ledger, resumed);
  }
  RunPasses(ledger);
}

void Scheduler::ContextRequested(Time now, ClientId client, GpuId gpu) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const Holding* holding = HoldingOf(ledger, client, gpu);
  if (holding == nullptr || holding->creating_context) return;
  for (const PendingContext& context : ledger.contexts) {
    if (context.client == client && context.gpu == gpu) return;
  }
  ledger.Add(PendingContext{client, ledger.job_of.at(client), gpu, ledger.now, Obstacle::kNone});
  RunPasses(ledger);
}

void Scheduler::ContextCreated(Time now, ClientId client, GpuId gpu, Bytes overhead) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Touched(ledger, client);
  FinishContext(ledger, client, gpu, overhead);
  RunPasses(ledger);
}

void Scheduler::GrowthRequested(Time now, ClientId client, std::uint32_t request, GpuId gpu,
                                GrowthKind kind, Bytes bytes) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* asking = Heard(ledger, client);
  if (asking == nullptr) return;
  if (HoldingOf(ledger, client, gpu) == nullptr) {
    ledger.decisions.push_back(AnswerGrowth{client, request, gpu, Growth::kRefused, 0});
    return;
  }
  asking->idle = false;
  Job& job = ledger.jobs.at(asking->job);
  ledger.Add(PendingGrowth{client, job.id, request, gpu, kind, bytes, ledger.now,
                           /*approved=*/false, Obstacle::kNone});
  if (job.phase == Phase::kSuspended) BeginWait(ledger, job);
  RunPasses(ledger);
}

void Scheduler::AccountChanged(Time now, ClientId client, GpuId gpu, const Footprint& footprint,
                               Bytes credit_returned, Bytes arena) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Holding* holding = HoldingOf(ledger, client, gpu);
  if (holding == nullptr) return;
  Heard(ledger, client);
  if (credit_returned > 0) holding->evict_deadline = ledger.now + ledger.config.evict_timeout;
  Client& account = *ledger.Find(client);
  ApplyAccount(account, *holding, footprint, credit_returned);
  if (arena > account.arena) ledger.arena_grew_at = ledger.now;
  account.arena = arena;
  UpdatePeak(ledger, gpu, account, footprint.Swappable());
  if (footprint.swapped > 0) CloseStaleGate(account);
  RunPasses(ledger);
}

void Scheduler::SetHostBacked(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  if (Client* backed = Touched(ledger, client)) backed->host_backed = true;
}

void Scheduler::HostBacked(Time now, ClientId client, Bytes bytes) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* backed = Heard(ledger, client);
  if (backed == nullptr || backed->on_host == bytes) return;
  backed->on_host = bytes;
  RunPasses(ledger);
}

void Scheduler::GateRequested(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* wanting = Heard(ledger, client);
  // If the gate is open, the OpenGate is still in flight.
  if (wanting == nullptr || wanting->gate == Gate::kOpen) return;
  wanting->wants_gate = true;
  BeginWait(ledger, ledger.jobs.at(wanting->job));
  RunPasses(ledger);
}

void Scheduler::BecameIdle(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* idle = Touched(ledger, client);
  if (idle == nullptr || idle->gate != Gate::kOpen) return;
  idle->idle = true;
  RunPasses(ledger);
}

void Scheduler::SetHold(Time now, ClientId client, bool holds) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* holder = Touched(ledger, client);
  if (holder == nullptr || holder->holds == holds) return;
  holder->holds = holds;
  RunPasses(ledger);
}

void Scheduler::GateClosed(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* closed = Touched(ledger, client);
  if (closed != nullptr && HandleGateClosed(ledger, *closed, serial)) RunPasses(ledger);
}

void Scheduler::DrainFailed(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* failed = Touched(ledger, client);
  if (failed != nullptr && HandleDrainFailed(ledger, *failed, serial)) RunPasses(ledger);
}

void Scheduler::Draining(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* draining = Touched(ledger, client);
  if (draining != nullptr && HandleDraining(*draining, serial)) RunPasses(ledger);
}

void Scheduler::Evicted(Time now, ClientId client, std::uint32_t serial, GpuId gpu,
                        EvictFailure failure) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const Client* answering = ledger.Find(client);
  const bool late = answering != nullptr && answering->unresponsive;
  Heard(ledger, client);
  if (late) RunPasses(ledger);
  Touched(ledger, client);
  Holding* holding = ledger.Find(client, gpu);
  if (holding == nullptr || serial == 0 || holding->evict_serial != serial) return;
  const bool nothing_came = holding->evict_left == holding->evict_requested;
  holding->evict_serial = 0;
  holding->evict_requested = holding->evict_left = 0;
  if (failure != EvictFailure::kNone || nothing_came) {
    ledger.jobs.at(ledger.job_of.at(client)).evictable_at = ledger.now + ledger.config.evict_retry;
  }
  RunPasses(ledger);
}

void Scheduler::SwappedIn(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* swapped_in = Heard(ledger, client);
  if (swapped_in == nullptr || serial == 0 || swapped_in->swap_in_serial != serial) return;
  swapped_in->swap_in_serial = 0;
  for (auto& [gpu, holding] : swapped_in->gpus) {
    // Memory without credit was allocated meanwhile and needs another SwapIn.
    const Bytes held =
        holding.footprint.resident + holding.footprint.Fixed() + holding.context_credit;
    const Bytes came =
        std::min(holding.footprint.swapped, holding.credit - std::min(held, holding.credit));
    holding.footprint.resident += came;
    holding.backed += came;
    holding.footprint.swapped -= came;
  }
  RunPasses(ledger);
}

void Scheduler::SetMovableContexts(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  if (Client* movable = Touched(ledger, client)) movable->movable_contexts = true;
}

void Scheduler::ContextsAway(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* resuming = Touched(ledger, client);
  if (resuming == nullptr || !resuming->gpus.empty()) return;
  resuming->contexts = Contexts::kAway;
  CloseStaleGate(*resuming);
  RunPasses(ledger);
}

void Scheduler::ContextsReleased(Time now, ClientId client, std::uint32_t serial,
                                 ContextRelease outcome) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* released = Heard(ledger, client);
  if (released == nullptr) return;
  HandleContextsReleased(ledger, *released, serial, outcome);
  RunPasses(ledger);
}

void Scheduler::ContextsRestored(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* restored = Heard(ledger, client);
  if (restored == nullptr) return;
  HandleContextsRestored(ledger, *restored, serial);
  RunPasses(ledger);
}

void Scheduler::Tick(Time now) { RunPasses(AdvanceTo(*ledger_, now)); }

std::optional<Time> Scheduler::NextWakeup() const {
  std::optional<Time> next = ledger_->common_wake;
  if (ledger_->wakes.empty()) return next;
  const Time first = ledger_->wakes.begin()->first;
  return std::min(next.value_or(first), first);
}

std::vector<Decision> Scheduler::TakeDecisions() { return std::exchange(ledger_->decisions, {}); }

}  // namespace reveza::scheduler
