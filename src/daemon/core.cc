#include "daemon/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/units.h"

namespace reveza::daemon {
namespace {

using std::chrono::seconds;

// How often we look at what nobody tells us: memory held outside, silence.
constexpr Time kLookEvery = seconds(1);

scheduler::Config ConfigFrom(const Settings& settings, Bytes host_budget) {
  scheduler::Config config;
  config.host_budget = host_budget;
  config.handover_share = settings.handover_share;
  config.slice_floor = settings.slice_floor;
  config.slice_ceiling = settings.slice_ceiling;
  config.max_wait = settings.max_wait;
  config.drain_limit = settings.drain_limit;
  if (settings.context_estimate) config.context_estimate = *settings.context_estimate;
  return config;
}

std::uint32_t Microseconds(nanoseconds duration) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

}  // namespace

Core::Core(const Settings& settings, Bytes host_budget, const platform::Clock& clock,
           platform::GpuMonitor* monitor, Outbox& outbox, Logger logger)
    : settings_(settings),
      host_budget_(host_budget),
      clock_(clock),
      monitor_(monitor),
      outbox_(outbox),
      logger_(std::move(logger)),
      started_(clock.Now()),
      scheduler_(ConfigFrom(settings, host_budget)),
      gpus_(settings) {}

ClientEntry* Core::Find(ClientId client) {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : &found->second;
}

bool Core::OnHello(ClientId id, const Peer& peer, const wire::Hello& hello) {
  // Whoever says Hello with a process number that we know is that process again: it lost us, or
  // it has begun another program, and then its GPU memory is gone too.
  if (peer.pid != 0) {
    ForgetLone(peer.pid);
    const auto before = std::ranges::find_if(
        clients_, [&](const auto& entry) { return entry.second.peer.pid == peer.pid; });
    if (before != clients_.end()) OnDeath(before->first);
  }
  ClientEntry& client = clients_[id];
  client.id = id;
  client.job = hello.job;
  client.peer = peer;
  client.command = hello.command;
  client.name = hello.name[0] != '\0' ? hello.name : ProgramName(client.command);
  client.resident = (hello.flags & wire::kHelloResident) != 0;
  const bool resuming = (hello.flags & wire::kHelloResuming) != 0;
  client.gate_open = resuming && hello.gate_open == 1;
  client.joined = clock_.Now();
  events_.Name(id, client.job, peer.pid, client.name);
  logger_->info("client {} {}: {} (pid {}), job {:016x}", id, resuming ? "resumes" : "joins",
                client.name, peer.pid, client.job);

  Send(id,
       wire::Welcome{id, Microseconds(settings_.drain_limit), Microseconds(settings_.queue_bound)});
  scheduler_.ClientJoined(clock_.Now(), id, client.job, client.resident);
  if (client.gate_open) Begin(client, EventKind::kSlice);
  CarryOut();
  return true;
}

void Core::Forget(ClientId id) {
  ClientEntry* client = Find(id);
  if (client == nullptr) return;
  for (const auto& [kind, began] : std::map(client->since)) End(*client, kind);
  clients_.erase(id);
  scheduler_.ClientLeft(clock_.Now(), id);
}

void Core::OnDeath(ClientId id) {
  const ClientEntry* client = Find(id);
  if (client == nullptr) return;
  logger_->info("client {} left: {} (pid {})", id, client->name, client->peer.pid);
  Forget(id);
  CarryOut();
}

void Core::OnLost(ClientId id) {
  const ClientEntry* client = Find(id);
  if (client == nullptr) return;
  if (client->peer.pid == 0) return OnDeath(id);  // nobody can tell us when it ends
  logger_->warn("client {} runs on without us: {} (pid {})", id, client->name, client->peer.pid);
  const ClientEntry copy = *client;
  const auto views = scheduler_.Clients();
  const auto view = std::ranges::find(views, id, &scheduler::ClientView::id);
  if (view != views.end()) {
    for (const auto& part : view->gpus) {
      if (part.credit == 0) continue;
      gpus_.at(part.gpu).lone[copy.peer.pid] = part.credit;
      // First, so that its share is not given out in the moment between.
      SetExternal(part.gpu);
    }
  }
  Forget(id);
  lone_[copy.peer.pid] = copy;
  CarryOut();
}

void Core::ForgetLone(pid_t pid) {
  if (lone_.erase(pid) == 0) return;
  for (GpuId gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (gpus_.at(gpu).lone.erase(pid) != 0) SetExternal(gpu);
  }
}

void Core::OnLoneDeath(pid_t pid) {
  ForgetLone(pid);
  CarryOut();
}

void Core::SetExternal(GpuId gpu) {
  scheduler_.SetExternal(clock_.Now(), gpu, gpus_.External(gpu));
}

// A client that does not answer to CloseGate is treated as one whose work does not end: its gate
// counts as open, others are told why they wait, and it is tried again later.
void Core::GiveUpOnSilence() {
  const Time limit = 2 * settings_.drain_limit + seconds(5);
  std::vector<std::pair<ClientId, std::uint32_t>> silent;
  for (const auto& [id, client] : clients_) {
    if (client.close && clock_.Now() - client.close->sent > limit) {
      silent.emplace_back(id, client.close->serial);
    }
  }
  for (const auto& [id, serial] : silent) {
    ClientEntry& client = clients_.at(id);
    client.close.reset();
    logger_->warn("client {} does not answer: {} (pid {})", id, client.name, client.peer.pid);
    client.given_up = serial;
    End(client, EventKind::kDrain, EventKind::kDrainFailed);
    Begin(client, EventKind::kSlice);
    scheduler_.DrainFailed(clock_.Now(), id, serial, scheduler::DrainFailure::kInsideCall);
  }
}

void Core::PollMonitor() {
  if (monitor_ == nullptr || (clients_.empty() && lone_.empty())) return;
  std::set<pid_t> ours;
  std::map<GpuId, std::set<pid_t>> holders;
  for (const auto& [id, client] : clients_) {
    ours.insert(client.peer.pid);
    for (const GpuId gpu : client.with_context) holders[gpu].insert(client.peer.pid);
  }
  std::vector<Bytes> before;
  for (GpuId gpu = 0; gpu < gpus_.size(); ++gpu) before.push_back(gpus_.External(gpu));
  const auto readings = monitor_->Read();
  gpus_.Observe(readings.value_or(std::vector<platform::GpuReading>()), ours, holders);
  for (GpuId gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (gpus_.External(gpu) == before[gpu]) continue;
    logger_->info("GPU {}: {} are held outside", gpu, FormatBytes(gpus_.External(gpu)));
    SetExternal(gpu);
  }
}

void Core::Tick() {
  if (clock_.Now() >= next_look_) {
    next_look_ = clock_.Now() + kLookEvery;
    PollMonitor();
    GiveUpOnSilence();
  }
  scheduler_.Tick(clock_.Now());
  CarryOut();
}

std::optional<Time> Core::NextWakeup() const {
  std::optional<Time> next = scheduler_.NextWakeup();
  if (!clients_.empty() || !lone_.empty()) {
    next = next ? std::min(*next, next_look_) : next_look_;
  }
  return next;
}

void Core::Begin(ClientEntry& client, EventKind kind) {
  client.since.try_emplace(kind, clock_.Now());
}

Time Core::End(ClientEntry& client, EventKind kind, EventKind as, GpuId gpu, Bytes bytes) {
  const auto found = client.since.find(kind);
  if (found == client.since.end()) return Time(0);
  const Time began = found->second;
  client.since.erase(found);
  const Time lasted = clock_.Now() - began;
  events_.Add({as, gpu, client.id, began, lasted, bytes});
  return lasted;
}

}  // namespace reveza::daemon
