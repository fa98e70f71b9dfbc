// What the scheduler decides, as messages to clients.
#include <algorithm>
#include <cstring>
#include <variant>

#include "base/units.h"
#include "daemon/core.h"

namespace reveza::daemon {
namespace {

// What a client is not told of: the contexts of others stay on the card even while it has its
// turn. Two clients that each took the whole budget could never run again while both live.
Bytes ReserveForOthers(Bytes budget) { return std::min<Bytes>(budget / 32, 1280 * kMiB); }

}  // namespace

void Core::CarryOut() {
  bool any = false;
  for (const auto& decision : scheduler_.TakeDecisions()) {
    any = true;
    std::visit([this](const auto& what) { Do(what); }, decision);
  }
  if (any) TellWhy();
}

void Core::Do(const scheduler::AdmitContext& decision) {
  ClientEntry* client = Find(decision.client);
  if (client == nullptr) return;
  client->admitted.insert(decision.gpu);
  End(*client, EventKind::kWaitContext);
  SendAdmitted(decision.client, decision.gpu, decision.credit);
}

void Core::SendAdmitted(ClientId id, GpuId number, Bytes credit) {
  const Gpu& gpu = gpus_.at(number);
  wire::ContextAdmitted message{};
  std::memcpy(message.uuid, gpu.uuid.data(), sizeof(message.uuid));
  message.gpu = number;
  message.budget = gpu.config.budget - ReserveForOthers(gpu.config.budget);
  message.credit = credit;
  message.granule = gpu.config.granule;
  Send(id, message);
}

void Core::Do(const scheduler::AnswerGrowth& decision) {
  ClientEntry* client = Find(decision.client);
  if (client == nullptr) return;
  const auto asked = client->growths.find(decision.request);
  if (asked != client->growths.end()) {
    const Time waited = clock_.Now() - asked->second;
    client->growths.erase(asked);
    if (waited > std::chrono::milliseconds(1)) {
      events_.Add({EventKind::kWaitMemory, decision.gpu, decision.client, clock_.Now() - waited,
                   waited, decision.credit});
    }
  }
  if (decision.answer == scheduler::Growth::kRefused) {
    logger_->warn("client {} is out of memory on GPU {}: {} (pid {})", client->id, decision.gpu,
                  client->name, client->peer.pid);
  }
  const auto answer = decision.answer == scheduler::Growth::kGranted   ? wire::Growth::kGranted
                      : decision.answer == scheduler::Growth::kRefused ? wire::Growth::kRefused
                                                                       : wire::Growth::kLater;
  Send(decision.client,
       wire::GrowthAnswer{decision.request, answer, decision.gpu, 0, decision.credit});
}

void Core::Do(const scheduler::OpenGate& decision) {
  ClientEntry* client = Find(decision.client);
  if (client == nullptr) return;
  client->gate_open = true;
  client->waited += End(*client, EventKind::kWait);
  Begin(*client, EventKind::kSlice);
  for (const GpuId gpu : client->admitted) {
    HandoverSums& sums = handovers_[gpu];
    if (sums.from == 0) continue;
    if (sums.from != client->job) {
      ++sums.count;
      sums.total += clock_.Now() - sums.began;
    }
    sums.from = 0;
  }
  Send(decision.client, wire::OpenGate{decision.serial, 0});
}

void Core::Do(const scheduler::CloseGate& decision) {
  ClientEntry* client = Find(decision.client);
  if (client == nullptr) return;
  client->close = ClientEntry::Order{decision.serial, clock_.Now()};
  End(*client, EventKind::kSlice);
  Begin(*client, EventKind::kDrain);
  for (const GpuId gpu : client->admitted) {
    HandoverSums& sums = handovers_[gpu];
    if (sums.from != 0) continue;
    sums.from = client->job;
    sums.began = clock_.Now();
  }
  const auto limit = std::chrono::duration_cast<std::chrono::microseconds>(decision.drain_limit);
  Send(decision.client,
       wire::CloseGate{decision.serial, static_cast<std::uint32_t>(limit.count())});
}

void Core::Do(const scheduler::Evict& decision) {
  ClientEntry* client = Find(decision.client);
  if (client == nullptr) return;
  client->evict[decision.gpu] = ClientEntry::Order{decision.serial, clock_.Now()};
  // An eviction ends a swap-in that is under way.
  client->swap_in.reset();
  End(*client, EventKind::kCopyIn);
  Send(decision.client, wire::Evict{decision.serial, decision.gpu, decision.bytes});
}

void Core::Do(const scheduler::SwapIn& decision) {
  ClientEntry* client = Find(decision.client);
  if (client == nullptr) return;
  client->swap_in = ClientEntry::Order{decision.serial, clock_.Now()};
  Begin(*client, EventKind::kCopyIn);
  Send(decision.client, wire::SwapIn{decision.serial, 0});
}

void Core::Do(const scheduler::GiveCredit& decision) {
  Send(decision.client, wire::Credit{decision.gpu, 0, decision.bytes});
}

void Core::Do(const scheduler::SetContention& decision) {
  const auto idle = std::chrono::duration_cast<std::chrono::microseconds>(decision.idle_after);
  const auto most = std::chrono::microseconds(std::chrono::minutes(10));
  Send(decision.client, wire::Contention{decision.waiting ? 1u : 0u,
                                         static_cast<std::uint32_t>(std::min(idle, most).count())});
}

void Core::Do(const scheduler::PrepareArena& decision) {
  Send(decision.client, wire::PrepareArena{decision.bytes});
}

std::string Core::NameOfJob(JobId job, const std::vector<scheduler::JobView>& jobs) const {
  const auto found = std::ranges::find(jobs, job, &scheduler::JobView::id);
  if (job == 0 || found == jobs.end() || found->clients.empty()) return "";
  const auto client = clients_.find(found->clients.front());
  if (client == clients_.end()) return "";
  return client->second.name + " (pid " + std::to_string(client->second.peer.pid) + ")";
}

WhyWorld Core::WorldOf(const scheduler::JobView& job, const std::vector<scheduler::JobView>& jobs,
                       const std::vector<scheduler::ClientView>& views) const {
  WhyWorld world;
  world.now = clock_.Now();
  world.max_wait = settings_.max_wait;
  world.host_budget = host_budget_;
  world.host_free = host_budget_ - std::min(host_budget_, scheduler_.HostReserved());
  world.rotating = static_cast<std::size_t>(std::ranges::count_if(
      jobs, [](const auto& other) { return other.state != scheduler::JobState::kQueued; }));
  world.blocker_name = NameOfJob(job.blocked_by, jobs);
  const auto blocker = std::ranges::find(jobs, job.blocked_by, &scheduler::JobView::id);
  if (job.blocked_by != 0 && blocker != jobs.end()) world.blocker = &*blocker;
  std::optional<GpuId> gpu;
  for (const auto& view : views) {
    if (view.job != job.id) continue;
    for (const auto& part : view.gpus) {
      if (!gpu) gpu = part.gpu;
      if (part.gpu == *gpu) world.need += part.footprint.Need();
    }
  }
  if (gpu) {
    const Bytes budget = gpus_.at(*gpu).config.budget;
    world.budget = budget - std::min(budget, gpus_.External(*gpu));
  }
  return world;
}

// The line that a waiting program shows. Sent when the reason changes, not when its numbers do.
void Core::TellWhy() {
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
      wire::Why message{};
      const std::string text = WhyText(job, WorldOf(job, jobs, *views));
      wire::CopyText(message.text, sizeof(message.text), text.c_str());
      Send(id, message);
    }
  }
}

}  // namespace reveza::daemon
