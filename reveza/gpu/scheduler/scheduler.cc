#include "reveza/gpu/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// A pass may enable another (a job that enters may then grow), but only a few times.
constexpr int kMaxPasses = 8;

// A client with swapped memory, or without its contexts, has a closed gate: it ignored the OpenGate
// that was in flight when it said so.
void CloseStaleGate(Client& client) {
  if (client.gate == Gate::kOpen) client.gate = Gate::kClosed;
}

Ledger& AdvanceTo(Ledger& ledger, Time now) {
  AccrueService(ledger, std::max(ledger.now, now));
  AccrueWaits(ledger, std::max(ledger.now, now));
  ledger.now = std::max(ledger.now, now);
  return ledger;
}

// Level-triggered: every event updates the ledger, then all passes decide from its state. A client
// that dies at any point leaves a consistent ledger.
void RunPasses(Ledger& ledger) {
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const std::size_t before = ledger.decisions.size();
    ledger.wake.reset();
    ExpireOrders(ledger);
    UpdateCrowding(ledger);
    EnforcePauses(ledger);
    RestoreBudget(ledger);
    AbandonHopeless(ledger);
    ProcessGrowths(ledger);
    ProcessContexts(ledger);
    UpdateQueue(ledger);
    UpdateCompetitors(ledger);
    ChooseTurns(ledger);
    AlignDrains(ledger);
    MoveMemory(ledger);
    ReleaseIdleContexts(ledger);
    const bool changed = OpenGates(ledger);
    if (!changed && ledger.decisions.size() == before && !BreakDeadlock(ledger)) break;
  }
  SendContention(ledger);
  SendQueueBounds(ledger);
  SendArenaRequests(ledger);
}

// Returns the client that sent an event: it answers.
Client* Heard(Ledger& ledger, ClientId id) {
  Client* client = ledger.Find(id);
  if (client == nullptr) return nullptr;
  client->unresponsive = false;
  client->swap_in_deadline.reset();
  return client;
}

// Returns the client's holding on a known GPU, creating it if necessary; else nullptr.
Holding* HoldingOf(Ledger& ledger, ClientId id, GpuId gpu) {
  Client* client = ledger.Find(id);
  if (client == nullptr || !ledger.gpus.contains(gpu)) return nullptr;
  return &client->gpus[gpu];
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
  AdvanceTo(*ledger_, now).gpus[gpu].config = config;
  RunPasses(*ledger_);
}

void Scheduler::SetExternal(Time now, GpuId gpu, Bytes bytes) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const auto entry = ledger.gpus.find(gpu);
  if (entry == ledger.gpus.end()) return;
  if (entry->second.external != bytes) entry->second.external_changed = ledger.now;
  entry->second.external = bytes;
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
  RunPasses(ledger);
}

void Scheduler::SetPolicy(Time now, JobId id, const Policy& policy) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const auto job = ledger.jobs.find(id);
  if (job == ledger.jobs.end() || job->second.policy == policy) return;
  SetPolicyOf(ledger, job->second, policy);
  RunPasses(ledger);
}

void Scheduler::SetAccount(Time now, JobId id, AccountId account, const Quota& quota) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const auto job = ledger.jobs.find(id);
  if (job == ledger.jobs.end()) return;
  job->second.account = account;
  ledger.quotas[account] = quota;
  RunPasses(ledger);
}

Bytes Scheduler::MaxRequest(JobId job, GpuId gpu) const {
  return ledger_->gpus.contains(gpu) ? ledger_->MaxRequest(job, gpu) : 0;
}

std::optional<Scheduler::Shortage> Scheduler::FindShortage(JobId id, Bytes request) const {
  const auto job = ledger_->jobs.find(id);
  if (job == ledger_->jobs.end()) return std::nullopt;
  for (const auto& [gpu, card] : ledger_->gpus) {
    if (!job->second.Uses(gpu) || request <= job->second.policy.request) continue;
    const Bytes max_request = ledger_->MaxRequestBesideClaims(job->second, gpu);
    if (request > max_request) return Shortage{gpu, max_request};
  }
  return std::nullopt;
}

void Scheduler::ClientLeft(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  if (ledger.Find(client) == nullptr) return;
  ledger.growths.remove_if([&](const auto& growth) { return growth.client == client; });
  ledger.contexts.remove_if([&](const auto& context) { return context.client == client; });
  for (auto& [id, gpu] : ledger.gpus) {
    if (gpu.context_creator == client) gpu.context_creator.reset();
    if (gpu.approved_context == client) gpu.approved_context.reset();
  }
  Job& job = ledger.jobs.at(ledger.job_of.at(client));
  ledger.job_of.erase(client);
  job.clients.erase(client);
  if (job.clients.empty()) {
    ledger.jobs.erase(job.id);
  } else {
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
  ledger.contexts.push_back({client, ledger.job_of.at(client), gpu, ledger.now, Obstacle::kNone});
  RunPasses(ledger);
}

void Scheduler::ContextCreated(Time now, ClientId client, GpuId gpu, Bytes overhead) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
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
  ledger.growths.push_back(
      {client, job.id, request, gpu, kind, bytes, ledger.now, /*approved=*/false, Obstacle::kNone});
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
  if (Client* backed = ledger.Find(client)) backed->host_backed = true;
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
  Client* idle = ledger.Find(client);
  if (idle == nullptr || idle->gate != Gate::kOpen) return;
  idle->idle = true;
  RunPasses(ledger);
}

void Scheduler::SetHold(Time now, ClientId client, bool holds) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* holder = ledger.Find(client);
  if (holder == nullptr || holder->holds == holds) return;
  holder->holds = holds;
  RunPasses(ledger);
}

void Scheduler::GateClosed(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* closed = ledger.Find(client);
  if (closed != nullptr && HandleGateClosed(ledger, *closed, serial)) RunPasses(ledger);
}

void Scheduler::DrainFailed(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* failed = ledger.Find(client);
  if (failed != nullptr && HandleDrainFailed(ledger, *failed, serial)) RunPasses(ledger);
}

void Scheduler::Draining(Time now, ClientId client, std::uint32_t serial) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* draining = ledger.Find(client);
  if (draining != nullptr && HandleDraining(*draining, serial)) RunPasses(ledger);
}

void Scheduler::Evicted(Time now, ClientId client, std::uint32_t serial, GpuId gpu,
                        EvictFailure failure) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  const Client* answering = ledger.Find(client);
  const bool late = answering != nullptr && answering->unresponsive;
  Heard(ledger, client);
  if (late) RunPasses(ledger);
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
  if (Client* movable = ledger.Find(client)) movable->movable_contexts = true;
}

void Scheduler::ContextsAway(Time now, ClientId client) {
  Ledger& ledger = AdvanceTo(*ledger_, now);
  Client* resuming = ledger.Find(client);
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

std::optional<Time> Scheduler::NextWakeup() const { return ledger_->wake; }

std::vector<Decision> Scheduler::TakeDecisions() { return std::exchange(ledger_->decisions, {}); }

std::vector<ClientView> Scheduler::Clients() const {
  std::vector<ClientView> views;
  for (const auto& [job_id, job] : ledger_->jobs) {
    for (const auto& [id, client] : job.clients) views.push_back(ViewOf(client));
  }
  return views;
}

std::vector<JobView> Scheduler::Jobs() const {
  std::vector<JobView> views;
  for (const auto& [id, job] : ledger_->jobs) views.push_back(ViewOf(*ledger_, job));
  return views;
}

std::vector<GpuView> Scheduler::Gpus() const {
  std::vector<GpuView> views;
  for (const auto& [id, gpu] : ledger_->gpus) views.push_back(ViewOf(*ledger_, id, gpu));
  return views;
}

Bytes Scheduler::HostReserved() const { return ledger_->HostReserved(); }

}  // namespace reveza::scheduler
