#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "scheduler/admission.h"
#include "scheduler/books.h"
#include "scheduler/gates.h"
#include "scheduler/growth.h"
#include "scheduler/hints.h"
#include "scheduler/host.h"
#include "scheduler/room.h"
#include "scheduler/turns.h"
#include "scheduler/view.h"

namespace reveza::scheduler {
namespace {

// One pass may enable another (a job that comes in may then grow), a few times at most.
constexpr int kMostPasses = 8;

// A client has memory elsewhere only behind a closed gate: it had when an OpenGate was on its way,
// which it then ignored.
void CloseStaleGate(Client& client) {
  if (client.gate == Gate::kOpen) client.gate = Gate::kClosed;
}

}  // namespace

// Every event changes the books and then decides anew from what they say (level-triggered): a
// client that dies in the middle of anything leaves books that are as good as any others.
class Scheduler::Impl {
 public:
  explicit Impl(const Config& config) : books(config) {}

  void At(Time now) { books.now = std::max(books.now, now); }

  void Decide() {
    for (int pass = 0; pass < kMostPasses; ++pass) {
      const std::size_t before = books.decisions.size();
      books.wake.reset();
      Shrink(books);
      GiveUpWhatIsHopeless(books);
      ConsiderGrowths(books);
      ConsiderContexts(books);
      UpdateQueue(books);
      ChooseTurns(books);
      MoveMemory(books);
      const bool changed = OpenGates(books);
      if (!changed && books.decisions.size() == before && !BreakDeadlock(books)) break;
    }
    TellContention(books);
    TellArenas(books);
  }

  // The client's holding of a declared GPU, made if it has none yet.
  Holding* HoldingOf(ClientId id, GpuId gpu) {
    Client* client = books.Find(id);
    if (client == nullptr || !books.gpus.contains(gpu)) return nullptr;
    return &client->gpus[gpu];
  }

  // What a client physically holds needs credit, given or not: contexts grow by themselves.
  static void CoverHoldings(Holding& holding) {
    if (holding.making_context) return;
    const Bytes held = holding.books.resident + holding.books.Fixed();
    holding.credit = std::max(holding.credit, held);
  }

  static void EnterAccount(Holding& holding, const Footprint& footprint, Bytes returned) {
    holding.credit -= std::min(holding.credit, returned);
    holding.evict_left -= std::min(holding.evict_left, returned);
    if (footprint.pinned > holding.books.pinned) {
      holding.pinned_on_the_way -=
          std::min(holding.pinned_on_the_way, footprint.pinned - holding.books.pinned);
    }
    if (footprint.resident > holding.books.resident) {
      holding.backed += footprint.resident - holding.books.resident;
    }
    holding.backed = std::min(holding.backed, footprint.Swappable());
    holding.books = footprint;
    CoverHoldings(holding);
    const Bytes held = footprint.resident + footprint.Fixed() + holding.context_credit;
    holding.pinned_on_the_way =
        std::min(holding.pinned_on_the_way, holding.credit > held ? holding.credit - held : 0);
  }

  Books books;
};

Scheduler::Scheduler(Config config) : impl_(std::make_unique<Impl>(config)) {}
Scheduler::~Scheduler() = default;

void Scheduler::SetConfig(const Config& config) { impl_->books.config = config; }

void Scheduler::SetGpu(Time now, GpuId gpu, const GpuConfig& config) {
  impl_->At(now);
  impl_->books.gpus[gpu].config = config;
  impl_->Decide();
}

void Scheduler::SetExternal(Time now, GpuId gpu, Bytes bytes) {
  impl_->At(now);
  const auto entry = impl_->books.gpus.find(gpu);
  if (entry == impl_->books.gpus.end()) return;
  if (entry->second.external != bytes) entry->second.external_changed = now;
  entry->second.external = bytes;
  impl_->Decide();
}

void Scheduler::ClientJoined(Time now, ClientId client, JobId job, bool resident_only) {
  impl_->At(now);
  Books& books = impl_->books;
  if (books.job_of.contains(client)) return;
  const auto [entry, fresh] = books.jobs.try_emplace(job);
  if (fresh) {
    entry->second.id = job;
    entry->second.joined = entry->second.rank = ++books.next_rank;
  }
  books.job_of[client] = job;
  Client& added = entry->second.clients[client];
  added.id = client;
  added.job = job;
  added.resident_only = resident_only;
  impl_->Decide();
}

void Scheduler::ClientLeft(Time now, ClientId client) {
  impl_->At(now);
  Books& books = impl_->books;
  if (books.Find(client) == nullptr) return;
  books.growths.remove_if([&](const auto& growth) { return growth.client == client; });
  books.contexts.remove_if([&](const auto& context) { return context.client == client; });
  for (auto& [id, gpu] : books.gpus) {
    if (gpu.maker == client) gpu.maker.reset();
    if (gpu.context_for == client) gpu.context_for.reset();
  }
  Job& job = books.jobs.at(books.job_of.at(client));
  books.job_of.erase(client);
  job.clients.erase(client);
  if (job.clients.empty()) {
    books.jobs.erase(job.id);
  } else {
    SettleLeaving(books, job);
  }
  impl_->Decide();
}

void Scheduler::ClientResumed(Time now, ClientId client, GpuId gpu, const Footprint& footprint,
                              Bytes credit, bool gate_open) {
  impl_->At(now);
  Books& books = impl_->books;
  Holding* holding = impl_->HoldingOf(client, gpu);
  if (holding == nullptr) return;
  books.all_known_at = books.now + books.config.takeover_settles;
  holding->books = footprint;
  holding->backed = footprint.Swappable();
  holding->credit = credit;
  Impl::CoverHoldings(*holding);
  Client& resumed = *books.Find(client);
  resumed.host_reserved = std::max(resumed.host_reserved, resumed.Swapped());
  NotePeak(books, gpu, resumed, footprint.Swappable());
  if (footprint.swapped > 0) CloseStaleGate(resumed);
  if (!gate_open || footprint.swapped > 0) {
    // It may have been at its gate for long, and says so once only.
    resumed.wants = resumed.gate == Gate::kClosed;
  } else if (resumed.gate == Gate::kClosed) {
    GateFoundOpen(books, resumed);
  }
  impl_->Decide();
}

void Scheduler::ContextWanted(Time now, ClientId client, GpuId gpu) {
  impl_->At(now);
  Books& books = impl_->books;
  const Holding* holding = impl_->HoldingOf(client, gpu);
  if (holding == nullptr || holding->making_context) return;
  for (const PendingContext& context : books.contexts) {
    if (context.client == client && context.gpu == gpu) return;
  }
  books.contexts.push_back({client, books.job_of.at(client), gpu, now, Obstacle::kNone});
  impl_->Decide();
}

void Scheduler::ContextMade(Time now, ClientId client, GpuId gpu, Bytes overhead) {
  impl_->At(now);
  ContextHasEnded(impl_->books, client, gpu, overhead);
  impl_->Decide();
}

void Scheduler::GrowthWanted(Time now, ClientId client, std::uint32_t request, GpuId gpu,
                             GrowthKind kind, Bytes bytes) {
  impl_->At(now);
  Books& books = impl_->books;
  Client* asking = books.Find(client);
  if (asking == nullptr) return;
  if (impl_->HoldingOf(client, gpu) == nullptr) {
    books.decisions.push_back(AnswerGrowth{client, request, gpu, Growth::kRefused, 0});
    return;
  }
  asking->idle = false;
  Job& job = books.jobs.at(asking->job);
  books.growths.push_back(
      {client, job.id, request, gpu, kind, bytes, now, /*approved=*/false, Obstacle::kNone});
  if (job.phase == Phase::kOut && !job.waiting_since && books.Wants(job)) {
    job.waiting_since = books.now;
  }
  impl_->Decide();
}

void Scheduler::AccountChanged(Time now, ClientId client, GpuId gpu, const Footprint& footprint,
                               Bytes credit_returned, Bytes arena) {
  impl_->At(now);
  Books& books = impl_->books;
  Holding* holding = impl_->HoldingOf(client, gpu);
  if (holding == nullptr) return;
  Impl::EnterAccount(*holding, footprint, credit_returned);
  Client& account = *books.Find(client);
  account.arena = arena;
  NotePeak(books, gpu, account, footprint.Swappable());
  if (footprint.swapped > 0) CloseStaleGate(account);
  impl_->Decide();
}

void Scheduler::GateWanted(Time now, ClientId client) {
  impl_->At(now);
  Books& books = impl_->books;
  Client* wanting = books.Find(client);
  // With an open gate: the OpenGate is on its way.
  if (wanting == nullptr || wanting->gate == Gate::kOpen) return;
  wanting->wants = true;
  Job& job = books.jobs.at(wanting->job);
  if (!job.waiting_since) job.waiting_since = books.now;
  impl_->Decide();
}

void Scheduler::BecameIdle(Time now, ClientId client) {
  impl_->At(now);
  Client* idle = impl_->books.Find(client);
  if (idle == nullptr || idle->gate != Gate::kOpen) return;
  idle->idle = true;
  impl_->Decide();
}

void Scheduler::GateClosed(Time now, ClientId client, std::uint32_t serial) {
  impl_->At(now);
  Client* closed = impl_->books.Find(client);
  if (closed != nullptr && GateHasClosed(impl_->books, *closed, serial)) impl_->Decide();
}

void Scheduler::DrainFailed(Time now, ClientId client, std::uint32_t serial, DrainFailure) {
  impl_->At(now);
  Client* failed = impl_->books.Find(client);
  if (failed != nullptr && DrainHasFailed(impl_->books, *failed, serial)) impl_->Decide();
}

void Scheduler::Evicted(Time now, ClientId client, std::uint32_t serial, GpuId gpu, Bytes,
                        EvictFailure failure) {
  impl_->At(now);
  Holding* holding = impl_->books.Find(client, gpu);
  if (holding == nullptr || serial == 0 || holding->evict_serial != serial) return;
  const bool nothing_came = holding->evict_left == holding->evict_asked;
  holding->evict_serial = 0;
  holding->evict_asked = holding->evict_left = 0;
  if (failure != EvictFailure::kNone || nothing_came) {
    impl_->books.jobs.at(impl_->books.job_of.at(client)).evictable_at =
        impl_->books.now + impl_->books.config.evict_retry;
  }
  impl_->Decide();
}

void Scheduler::SwappedIn(Time now, ClientId client, std::uint32_t serial) {
  impl_->At(now);
  Client* swapped_in = impl_->books.Find(client);
  if (swapped_in == nullptr || serial == 0 || swapped_in->swap_in_serial != serial) return;
  swapped_in->swap_in_serial = 0;
  for (auto& [gpu, holding] : swapped_in->gpus) {
    // What it has no credit for was allocated behind its back meanwhile, and needs another order.
    const Bytes held = holding.books.resident + holding.books.Fixed() + holding.context_credit;
    const Bytes came =
        std::min(holding.books.swapped, holding.credit - std::min(held, holding.credit));
    holding.books.resident += came;
    holding.backed += came;
    holding.books.swapped -= came;
  }
  impl_->Decide();
}

void Scheduler::Tick(Time now) {
  impl_->At(now);
  impl_->Decide();
}

std::optional<Time> Scheduler::NextWakeup() const { return impl_->books.wake; }

std::vector<Decision> Scheduler::TakeDecisions() {
  return std::exchange(impl_->books.decisions, {});
}

std::vector<ClientView> Scheduler::Clients() const {
  std::vector<ClientView> views;
  for (const auto& [job_id, job] : impl_->books.jobs) {
    for (const auto& [id, client] : job.clients) views.push_back(ViewOf(client));
  }
  return views;
}

std::vector<JobView> Scheduler::Jobs() const {
  std::vector<JobView> views;
  for (const auto& [id, job] : impl_->books.jobs) views.push_back(ViewOf(impl_->books, job));
  return views;
}

std::vector<GpuView> Scheduler::Gpus() const {
  std::vector<GpuView> views;
  for (const auto& [id, gpu] : impl_->books.gpus) views.push_back(ViewOf(impl_->books, id, gpu));
  return views;
}

Bytes Scheduler::HostReserved() const { return impl_->books.HostReserved(); }

}  // namespace reveza::scheduler
