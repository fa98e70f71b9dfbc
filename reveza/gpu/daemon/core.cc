#include "reveza/gpu/daemon/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/units.h"

namespace reveza::daemon {
namespace {

using std::chrono::seconds;

// Interval for polling external memory and unanswered orders.
constexpr Time kPollInterval = seconds(1);
constexpr Time kUsageReportInterval = seconds(30);

scheduler::Config ConfigFrom(const Settings& settings, Bytes host_budget) {
  scheduler::Config config;
  config.host_budget = host_budget;
  config.handover_share = settings.handover_share;
  config.queue_bound = settings.queue_bound;
  config.slice_floor = settings.slice_floor;
  config.slice_ceiling = settings.slice_ceiling;
  config.max_wait = settings.max_wait;
  config.drain_limit = settings.drain_limit;
  config.release_contexts_after = settings.release_contexts_after;
  if (settings.context_estimate) config.context_estimate = *settings.context_estimate;
  return config;
}

}  // namespace

Core::Core(const Settings& settings, Bytes host_budget, const platform::Clock& clock,
           usage::Sink* usage, Outbox& outbox, Logger logger)
    : settings_(settings),
      host_budget_(host_budget),
      clock_(clock),
      usage_(usage),
      outbox_(outbox),
      logger_(std::move(logger)),
      started_(clock.Now()),
      scheduler_(ConfigFrom(settings, host_budget)),
      gpus_(settings) {}

ClientEntry* Core::Find(ClientId client) {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : &found->second;
}

void Core::OnHello(ClientId id, const Peer& peer, const wire::Hello& hello) {
  const pid_t pid = peer.pid;
  // A known pid means that the process has reconnected, or has called exec(), which frees its GPU
  // memory too.
  if (pid != 0) {
    ForgetDetached(pid);
    const auto before =
        std::ranges::find_if(clients_, [&](const auto& entry) { return entry.second.pid == pid; });
    if (before != clients_.end()) OnDeath(before->first);
  }
  ClientEntry& client = clients_[id];
  client.id = id;
  client.job = hello.job;
  client.pid = pid;
  client.version = peer.version;
  client.command = hello.command;
  client.name = hello.name[0] != '\0' ? hello.name : ProgramName(client.command);
  client.resident = (hello.flags & wire::kHelloResident) != 0;
  const bool resuming = (hello.flags & wire::kHelloResuming) != 0;
  client.gate_open = resuming && hello.gate_open == 1;
  client.joined = clock_.Now();
  events_.SetClientName(id, client.job, pid, client.name);
  logger_->info("client {} {}: {} (pid {}), job {:016x}", id, resuming ? "resumes" : "joins",
                client.name, pid, client.job);

  Send(client,
       wire::Welcome{id, Microseconds(settings_.drain_limit), Microseconds(settings_.queue_bound)});
  scheduler_.ClientJoined(clock_.Now(), id, client.job, client.resident);
  if ((hello.flags & wire::kHelloHostBacked) != 0 && peer.version >= wire::HostBacked::kSince) {
    scheduler_.SetHostBacked(clock_.Now(), id);
  }
  if ((hello.flags & wire::kHelloMovableContexts) != 0 && peer.version >= 3) {
    scheduler_.SetMovableContexts(clock_.Now(), id);
  }
  if (const auto [job, fresh] = jobs_.try_emplace(client.job); fresh) {
    job->second.owner = peer.uid;
    job->second.name = client.name;
    ApplyClass(client, peer.identity);
    ApplyQuota(client, peer);
  }
  if (client.gate_open) BeginSpan(client, EventKind::kSlice);
  ApplyDecisions();
}

void Core::Forget(ClientId id) {
  ClientEntry* client = Find(id);
  if (client == nullptr) return;
  for (const auto& [kind, started] : std::map(client->open_spans)) EndSpan(*client, kind);
  const JobId job = client->job;
  const auto of_job = [&](const auto& entry) { return entry.second.job == job; };
  const bool job_ends = std::ranges::count_if(clients_, of_job) == 1;
  if (job_ends) {
    ReportUsage();
    jobs_.erase(job);
  }
  clients_.erase(id);
  scheduler_.ClientLeft(clock_.Now(), id);
}

void Core::OnDeath(ClientId id) {
  const ClientEntry* client = Find(id);
  if (client == nullptr) return;
  logger_->info("client {} exited: {} (pid {})", id, client->name, client->pid);
  Forget(id);
  ApplyDecisions();
}

void Core::OnDisconnected(ClientId id) {
  const ClientEntry* client = Find(id);
  if (client == nullptr) return;
  if (client->pid == 0) return OnDeath(id);  // its exit cannot be watched
  logger_->warn("client {} disconnected, process still running: {} (pid {})", id, client->name,
                client->pid);
  const ClientEntry copy = *client;
  const auto views = scheduler_.Clients();
  const auto view = std::ranges::find(views, id, &scheduler::ClientView::id);
  if (view != views.end()) {
    for (const auto& part : view->gpus) {
      if (part.credit == 0) continue;
      gpus_.at(part.gpu).detached[copy.pid] = part.credit;
      // Before Forget(), so that its memory is not granted to others in between.
      SetExternal(part.gpu);
    }
  }
  Forget(id);
  detached_[copy.pid] = copy;
  ApplyDecisions();
}

void Core::ForgetDetached(pid_t pid) {
  if (detached_.erase(pid) == 0) return;
  for (GpuId gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (gpus_.at(gpu).detached.erase(pid) != 0) SetExternal(gpu);
  }
}

void Core::OnDetachedDeath(pid_t pid) {
  ForgetDetached(pid);
  ApplyDecisions();
}

void Core::SetExternal(GpuId gpu) {
  scheduler_.SetExternal(clock_.Now(), gpu, gpus_.External(gpu));
}

// Treats clients that do not answer CloseGate as failed drains: the gate counts as open, waiting
// clients are told the reason, and the scheduler retries later.
void Core::ExpireUnansweredCloses() {
  const Time limit = 2 * settings_.drain_limit + seconds(5);
  for (auto& [id, client] : clients_) {
    if (!client.close || clock_.Now() - client.close->sent <= limit) continue;
    const std::uint32_t serial = client.close->serial;
    client.close.reset();
    logger_->warn("client {} does not answer CloseGate: {} (pid {})", id, client.name, client.pid);
    client.expired_close = serial;
    EndSpan(client, EventKind::kDrain, EventKind::kDrainFailed);
    BeginSpan(client, EventKind::kSlice);
    scheduler_.DrainFailed(clock_.Now(), id, serial);
  }
}

void Core::OnReadings(const GpuReadings& readings) {
  if (poll_ != 0 && readings.request >= poll_) {
    poll_ = 0;
    ObserveGpus(readings.gpus.value_or(std::vector<nvml::GpuReading>()));
  }
  for (auto& [id, client] : clients_) {
    if (!client.measurement || client.measurement->request > readings.request) continue;
    EndMeasurement(client, MemoryOf(client, client.measurement->gpu, readings));
  }
  SendRestores(readings);
  ApplyDecisions();
}

void Core::ObserveGpus(const std::vector<nvml::GpuReading>& readings) {
  std::set<pid_t> ours;
  std::map<GpuId, std::set<pid_t>> holders;
  for (const auto& [id, client] : clients_) {
    ours.insert(client.pid);
    if (client.contexts_away) continue;
    for (const GpuId gpu : client.with_context) holders[gpu].insert(client.pid);
  }
  std::vector<Bytes> before;
  for (GpuId gpu = 0; gpu < gpus_.size(); ++gpu) before.push_back(gpus_.External(gpu));
  gpus_.Observe(readings, ours, holders);
  for (GpuId gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (gpus_.External(gpu) == before[gpu]) continue;
    logger_->info("GPU {}: external processes hold {}", gpu, FormatBytes(gpus_.External(gpu)));
    SetExternal(gpu);
  }
}

void Core::Tick() {
  if (clock_.Now() >= next_poll_) {
    next_poll_ = clock_.Now() + kPollInterval;
    if (!clients_.empty() || !detached_.empty()) poll_ = outbox_.RequestReadings();
    ExpireMeasurements();
    ExpireUnansweredCloses();
    SampleShares();
  }
  if (clock_.Now() >= next_usage_report_) {
    next_usage_report_ = clock_.Now() + kUsageReportInterval;
    ReportUsage();
  }
  scheduler_.Tick(clock_.Now());
  ApplyDecisions();
}

std::optional<Time> Core::NextWakeup() const {
  std::optional<Time> next = scheduler_.NextWakeup();
  if (!clients_.empty() || !detached_.empty()) {
    next = next ? std::min(*next, next_poll_) : next_poll_;
  }
  return next;
}

void Core::BeginSpan(ClientEntry& client, EventKind kind) {
  client.open_spans.try_emplace(kind, clock_.Now());
}

Time Core::EndSpan(ClientEntry& client, EventKind kind, EventKind as, GpuId gpu, Bytes bytes) {
  const auto found = client.open_spans.find(kind);
  if (found == client.open_spans.end()) return Time(0);
  const Time started = found->second;
  client.open_spans.erase(found);
  const Time duration = clock_.Now() - started;
  events_.Add({as, gpu, client.id, started, duration, bytes});
  return duration;
}

}  // namespace reveza::daemon
