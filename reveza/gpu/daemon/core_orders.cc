// Core: scheduler decisions to client messages.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <variant>

#include "common/base/units.h"
#include "reveza/gpu/daemon/core.h"

namespace reveza::daemon {

void Core::ApplyDecisions() {
  bool any = false;
  for (const auto& decision : scheduler_.TakeDecisions()) {
    any = true;
    const auto apply = [this](const auto& what) {
      if (ClientEntry* client = Find(what.client)) Apply(*client, what);
    };
    std::visit(apply, decision);
  }
  if (any) SendWaitReasons();
}

void Core::Apply(ClientEntry& client, const scheduler::AdmitContext& decision) {
  client.admitted.insert(decision.gpu);
  EndSpan(client, EventKind::kWaitContext);
  SendAdmitted(client, decision.gpu, decision.credit);
}

void Core::Apply(ClientEntry& client, const scheduler::RefuseContext& decision) {
  EndSpan(client, EventKind::kWaitContext);
  const JobEntry& job = jobs_.at(client.job);
  const scheduler::Policy& policy = job.policy;
  const Bytes budget = gpus_.at(decision.gpu).config.budget;
  const std::string text =
      policy.request > decision.max_request
          ? fmt::format(
                "{} of GPU memory cannot be promised: of {} on GPU {}, {} are promised to or "
                "held by others",
                FormatBytes(policy.request), FormatBytes(budget), decision.gpu,
                FormatBytes(budget - std::min(budget, decision.max_request)))
      : policy.limit <= job.quota.limit
          ? fmt::format("the limit of {} of GPU memory is less than a context needs",
                        FormatBytes(policy.limit))
          : fmt::format(
                "the quota of {} of GPU memory leaves no room for a context beside the "
                "user's other programs",
                FormatBytes(job.quota.limit));
  logger_->warn("client {} is refused: {} ({})", client.id, text, client.name);
  if (!wire::IsKnownTo<wire::ContextRefused>(client.version)) {
    wire::Refused refused{};
    refused.reason = wire::RefusedReason::kFull;
    refused.version = client.version;
    wire::CopyText(refused.text, sizeof(refused.text), text.c_str());
    return Send(client, refused);
  }
  wire::ContextRefused message{};
  std::memcpy(message.uuid, gpus_.at(decision.gpu).uuid.data(), sizeof(message.uuid));
  wire::CopyText(message.text, sizeof(message.text), text.c_str());
  Send(client, message);
}

void Core::SendAdmitted(const ClientEntry& client, GpuId number, Bytes credit) {
  const Gpu& gpu = gpus_.at(number);
  wire::ContextAdmitted message{};
  std::memcpy(message.uuid, gpu.uuid.data(), sizeof(message.uuid));
  message.gpu = number;
  message.budget = PresentedBudget(client.job, number);
  message.credit = credit;
  message.granule = gpu.config.granule;
  Send(client, message);
}

void Core::Apply(ClientEntry& client, const scheduler::AnswerGrowth& decision) {
  const auto requested = client.growths.find(decision.request);
  if (requested != client.growths.end()) {
    const Time waited = clock_.Now() - requested->second;
    client.growths.erase(requested);
    if (waited > std::chrono::milliseconds(1)) {
      events_.Add({EventKind::kWaitMemory, decision.gpu, client.id, clock_.Now() - waited, waited,
                   decision.credit});
    }
  }
  if (decision.answer == scheduler::Growth::kRefused) {
    logger_->warn("client {} is out of memory on GPU {}: {} (pid {})", client.id, decision.gpu,
                  client.name, client.pid);
  }
  Send(client, wire::GrowthAnswer{decision.request, static_cast<wire::Growth>(decision.answer),
                                  decision.gpu, 0, decision.credit});
}

void Core::Apply(ClientEntry& client, const scheduler::OpenGate& decision) {
  client.gate_open = true;
  if (const Time waited = EndSpan(client, EventKind::kWait); waited > Time(0)) {
    client.waited += waited;
    std::deque<Time>& waits = jobs_.at(client.job).waits;
    waits.push_back(waited);
    if (waits.size() > JobEntry::kMaxWaits) waits.pop_front();
  }
  BeginSpan(client, EventKind::kSlice);
  for (const GpuId gpu : client.admitted) {
    HandoverStats& stats = handovers_[gpu];
    // A job that only left for its own growth, and comes back, took over from nobody.
    stats.from.erase(client.job);
    if (stats.from.empty()) continue;
    ++stats.count;
    stats.total += clock_.Now() - stats.started;
    stats.from.clear();
  }
  Send(client, wire::OpenGate{decision.serial, 0});
}

void Core::Apply(ClientEntry& client, const scheduler::CloseGate& decision) {
  client.close = ClientEntry::PendingOrder{decision.serial, clock_.Now()};
  EndSpan(client, EventKind::kSlice);
  BeginSpan(client, EventKind::kDrain);
  for (const GpuId gpu : client.admitted) {
    HandoverStats& stats = handovers_[gpu];
    if (stats.from.empty()) stats.started = clock_.Now();
    stats.from.insert(client.job);
  }
  Send(client, wire::CloseGate{decision.serial, Microseconds(decision.drain_limit),
                               Microseconds(decision.report_after), decision.submissions});
}

void Core::Apply(ClientEntry& client, const scheduler::Evict& decision) {
  client.evict[decision.gpu] = ClientEntry::PendingOrder{decision.serial, clock_.Now()};
  // An eviction cancels a swap-in in progress.
  client.swap_in.reset();
  EndSpan(client, EventKind::kCopyIn);
  Send(client, wire::Evict{decision.serial, decision.gpu, decision.bytes});
}

void Core::Apply(ClientEntry& client, const scheduler::SwapIn& decision) {
  client.swap_in = ClientEntry::PendingOrder{decision.serial, clock_.Now()};
  client.swapping_in = client.swapped;
  BeginSpan(client, EventKind::kCopyIn);
  Send(client, wire::SwapIn{decision.serial, 0});
}

void Core::Apply(ClientEntry& client, const scheduler::GiveCredit& decision) {
  Send(client, wire::Credit{decision.gpu, 0, decision.bytes});
}

void Core::Apply(ClientEntry& client, const scheduler::SetContention& decision) {
  const Time idle = std::min<Time>(decision.idle_after, std::chrono::minutes(10));
  Send(client, wire::Contention{decision.waiting ? 1u : 0u, Microseconds(idle)});
}

void Core::Apply(ClientEntry& client, const scheduler::SetQueueBound& decision) {
  Send(client, wire::QueueBound{Microseconds(decision.bound), decision.always ? 1u : 0u});
}

// From now on the process may be missing in NVML's list.
void Core::Apply(ClientEntry& client, const scheduler::ReleaseContexts& decision) {
  client.contexts_away = true;
  BeginSpan(client, EventKind::kContextsOut);
  Send(client, wire::ReleaseContexts{decision.serial, 0});
}

void Core::Apply(ClientEntry& client, const scheduler::RestoreContexts& decision) {
  BeginSpan(client, EventKind::kContextsIn);
  client.restore = {decision.serial, outbox_.RequestReadings()};
  if (client.restore->request == 0) SendRestore(client);
}

void Core::SendRestore(ClientEntry& client) {
  client.restore->sent = true;
  Send(client, wire::RestoreContexts{client.restore->serial, 0});
}

// The scheduler has reserved the room, but the memory of a process that has died may not be free
// yet, and a restore that meets a full card breaks the process. Where NVML does not tell what is
// free, there is nothing to wait for.
void Core::SendRestores(const GpuReadings& readings) {
  const auto waits = [&](const ClientEntry& client) {
    return client.restore && !client.restore->sent && client.restore->request <= readings.request;
  };
  const auto is_restoring = [](const auto& entry) { return entry.second.restore.has_value(); };
  if (std::ranges::none_of(clients_, is_restoring)) return;
  std::map<GpuId, Bytes> free = FreeMemory(readings);
  std::map<ClientId, scheduler::ClientView> views;
  for (auto& view : scheduler_.Clients()) views.emplace(view.id, std::move(view));
  // Takes the memory of the client from what is free. Returns whether there was enough.
  const auto take = [&](const ClientEntry& client) {
    const auto& gpus = views.at(client.id).gpus;
    const bool fits = std::ranges::all_of(gpus, [&](const auto& part) {
      return !free.contains(part.gpu) || free[part.gpu] >= part.footprint.Fixed();
    });
    for (const auto& part : gpus) {
      if (free.contains(part.gpu))
        free[part.gpu] -= std::min(free[part.gpu], part.footprint.Fixed());
    }
    return fits;
  };
  for (const auto& [id, client] : clients_) {
    if (client.restore && client.restore->sent) take(client);
  }
  for (auto& [id, client] : clients_) {
    if (!waits(client)) continue;
    if (take(client)) {
      SendRestore(client);
    } else {
      client.restore->request = outbox_.RequestReadings();
    }
  }
}

std::map<GpuId, Bytes> Core::FreeMemory(const GpuReadings& readings) const {
  std::map<GpuId, Bytes> free;
  for (GpuId gpu = 0; readings.gpus && gpu < gpus_.size(); ++gpu) {
    const auto reading =
        std::ranges::find(*readings.gpus, gpus_.at(gpu).uuid, &nvml::GpuReading::uuid);
    if (reading == readings.gpus->end() || !reading->total || !reading->used) continue;
    free[gpu] = *reading->total - std::min(*reading->total, *reading->used);
  }
  return free;
}

void Core::Apply(ClientEntry& client, const scheduler::PrepareArena& decision) {
  Send(client, wire::PrepareArena{decision.bytes});
}

std::string Core::NameOfJob(JobId job, const std::vector<scheduler::JobView>& jobs) const {
  const auto found = std::ranges::find(jobs, job, &scheduler::JobView::id);
  if (job == 0 || found == jobs.end() || found->clients.empty()) return "";
  const auto client = clients_.find(found->clients.front());
  if (client == clients_.end()) return "";
  return client->second.name + " (pid " + std::to_string(client->second.pid) + ")";
}

WaitContext Core::WaitContextOf(const scheduler::JobView& job,
                                const std::vector<scheduler::JobView>& jobs,
                                const std::vector<scheduler::ClientView>& views) const {
  WaitContext context;
  context.now = clock_.Now();
  context.max_wait = settings_.max_wait;
  context.host_budget = host_budget_;
  context.host_free = host_budget_ - std::min(host_budget_, scheduler_.HostReserved());
  context.rotating = static_cast<std::size_t>(std::ranges::count_if(jobs, [](const auto& other) {
    return other.state != scheduler::JobState::kQueued && other.state != scheduler::JobState::kIdle;
  }));
  context.blocker_name = NameOfJob(job.blocked_by, jobs);
  const auto blocker = std::ranges::find(jobs, job.blocked_by, &scheduler::JobView::id);
  if (job.blocked_by != 0 && blocker != jobs.end()) context.blocker = &*blocker;
  std::optional<GpuId> gpu;
  for (const auto& view : views) {
    if (view.job != job.id) continue;
    for (const auto& part : view.gpus) {
      if (!gpu) gpu = part.gpu;
      if (part.gpu == *gpu) context.need += part.footprint.Need();
    }
  }
  if (gpu) {
    const Bytes budget = gpus_.at(*gpu).config.budget;
    context.budget = budget - std::min(budget, gpus_.External(*gpu));
  }
  return context;
}

// Sends the wait reasons to clients; only when the reason changes, not its numbers.
void Core::SendWaitReasons() {
  const auto jobs = scheduler_.Jobs();
  std::optional<std::vector<scheduler::ClientView>> views;
  for (const auto& job : jobs) {
    for (const ClientId id : job.clients) {
      ClientEntry* client = Find(id);
      if (client == nullptr) continue;
      if (client->why == job.why && client->why_blocked_by == job.blocked_by) continue;
      client->why = job.why;
      client->why_blocked_by = job.blocked_by;
      if (!views) views = scheduler_.Clients();
      wire::WaitMessage message{};
      const std::string text = WaitReasonText(job, WaitContextOf(job, jobs, *views));
      wire::CopyText(message.text, sizeof(message.text), text.c_str());
      Send(*client, message);
    }
  }
}

}  // namespace reveza::daemon
