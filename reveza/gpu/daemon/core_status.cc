// Core: status as JSON.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/platform/process.h"
#include "reveza/gpu/daemon/core.h"
#include "reveza/gpu/daemon/mps.h"

namespace reveza::daemon {
namespace {

using nlohmann::json;

double Seconds(Time time) { return std::chrono::duration<double>(time).count(); }

double MeanMilliseconds(Time sum, std::uint64_t count) {
  return count == 0 ? 0.0 : Seconds(sum) * 1e3 / static_cast<double>(count);
}

json FootprintJson(const scheduler::Footprint& footprint) {
  return {{"resident", footprint.resident},
          {"swapped", footprint.swapped},
          {"pinned", footprint.pinned},
          {"context", footprint.context}};
}

json HandoverJson(const HandoverStats& stats) {
  const double copying = Seconds(stats.out) + Seconds(stats.in);
  const auto bytes = static_cast<double>(stats.bytes_out + stats.bytes_in);
  return {{"count", stats.count},
          {"mean_ms", MeanMilliseconds(stats.total, stats.count)},
          {"drain_ms", MeanMilliseconds(stats.drain, stats.drain_count)},
          {"out_ms", MeanMilliseconds(stats.out, stats.out_count)},
          {"in_ms", MeanMilliseconds(stats.in, stats.in_count)},
          {"bytes_out", stats.bytes_out},
          {"bytes_in", stats.bytes_in},
          {"bytes_unchanged", stats.bytes_unchanged},
          {"gb_per_s", copying > 0 ? bytes / copying / 1e9 : 0.0}};
}

// Returns what is on the card, and as swapped what is not: also contexts that are away.
scheduler::Footprint Shown(const scheduler::ClientView& client,
                           const scheduler::Footprint& footprint) {
  if (!client.contexts_away) return footprint;
  return {.resident = footprint.resident, .swapped = footprint.swapped + footprint.Fixed()};
}

json ExternalProcessesJson(const Gpu& gpu, const std::map<pid_t, ClientEntry>& detached) {
  json list = json::array();
  for (const auto& [pid, bytes] : gpu.detached) {
    const auto entry = detached.find(pid);
    list.push_back({{"pid", pid},
                    {"command", entry == detached.end() ? "" : entry->second.command},
                    {"bytes", bytes},
                    {"lost", true}});
  }
  for (const ExternalProcess& process : gpu.external_processes) {
    list.push_back({{"pid", process.pid},
                    {"command", platform::ProcessCommand(process.pid)},
                    {"bytes", process.bytes},
                    {"lost", false}});
  }
  return list;
}

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

// Returns whether an order is overdue.
bool IsUnresponsive(const ClientEntry& client, Time now, Time drain_limit) {
  constexpr Time copying = std::chrono::seconds(30);
  if (client.expired_close != 0) return true;
  if (client.close && now - client.close->sent > drain_limit + std::chrono::seconds(2)) return true;
  return std::ranges::any_of(client.evict,
                             [&](const auto& entry) { return now - entry.second.sent > copying; });
}

json PolicyJson(const scheduler::Policy& policy, const std::string& policy_class) {
  const bool limited = policy.limit != scheduler::Policy{}.limit;
  return {{"class", policy_class.empty() ? json(nullptr) : json(policy_class)},
          {"weight", policy.weight},
          {"priority", scheduler::ToText(policy.priority)},
          {"interactive", policy.interactive},
          {"paused", policy.paused},
          {"memory_request", policy.request},
          {"memory_limit", limited ? json(policy.limit) : json(nullptr)}};
}

json QuotaJson(const scheduler::Quota& quota) {
  if (quota == scheduler::Quota{}) return nullptr;
  const bool limited = quota.limit != scheduler::Quota{}.limit;
  return {{"weight", OrNull(quota.weight)},
          {"memory", limited ? json(quota.limit) : json(nullptr)}};
}

json WaitsJson(const JobEntry& entry) {
  const auto milliseconds = [&](double share) {
    return Seconds(entry.WaitPercentile(share)) * 1e3;
  };
  return {{"count", entry.waits.size()},
          {"p50", milliseconds(0.5)},
          {"p95", milliseconds(0.95)},
          {"p99", milliseconds(0.99)}};
}

json GpuJson(const scheduler::GpuView& view, const Gpu& gpu,
             const std::vector<scheduler::ClientView>& clients, const HandoverStats& stats,
             const std::map<pid_t, ClientEntry>& detached, Bytes max_request) {
  Bytes resident = 0;
  Bytes swapped = 0;
  for (const auto& client : clients) {
    for (const auto& part : client.gpus) {
      if (part.gpu != view.id) continue;
      const scheduler::Footprint footprint = Shown(client, part.footprint);
      resident += footprint.resident + footprint.Fixed();
      swapped += footprint.swapped;
    }
  }
  return {{"index", view.id},
          {"uuid", nvml::FormatUuid(gpu.uuid)},
          {"name", gpu.name},
          {"total", gpu.config.total},
          {"budget", gpu.config.budget},
          {"resident", resident},
          {"swapped", swapped},
          {"credit", view.outstanding_credit},
          {"max_request", max_request},
          {"external", view.external},
          {"used", OrNull(gpu.used)},
          {"outside", ExternalProcessesJson(gpu, detached)},
          {"handover", HandoverJson(stats)}};
}

json OnHostJson(const ClientEntry& client) {
  ClientEntry::OnHost sum;
  for (const auto& [gpu, one] : client.on_host) {
    sum.bytes += one.bytes;
    sum.hot += one.hot;
    sum.full = sum.full || one.full;
    sum.pass += one.pass;
    sum.promoted += one.promoted;
    sum.demoted += one.demoted;
  }
  return {{"bytes", sum.bytes},       {"hot", sum.hot},
          {"fits", !sum.full},        {"pass_ms", Seconds(sum.pass) * 1e3},
          {"promoted", sum.promoted}, {"demoted", sum.demoted}};
}

json ClientJson(const ClientEntry& client, const JobEntry& entry, const scheduler::JobView& job,
                const scheduler::ClientView& view, const GpuShare& gpu_share,
                const std::string& why, Time now, Time drain_limit) {
  scheduler::Footprint total;
  json parts = json::array();
  for (const auto& part : view.gpus) {
    const scheduler::Footprint footprint = Shown(view, part.footprint);
    json on_gpu = FootprintJson(footprint);
    on_gpu["gpu"] = part.gpu;
    on_gpu["credit"] = part.credit;
    parts.push_back(std::move(on_gpu));
    total.resident += footprint.resident;
    total.swapped += footprint.swapped;
    total.pinned += footprint.pinned;
    total.context += footprint.context;
  }
  const auto wait = client.open_spans.find(EventKind::kWait);
  const Time waiting = wait == client.open_spans.end() ? Time(0) : now - wait->second;
  const double lifetime = Seconds(now - client.joined);
  return {{"pid", client.pid},
          {"name", client.name},
          {"command", client.command},
          {"job", fmt::format("{:016x}", client.job)},
          {"state", scheduler::ToText(job.state)},
          {"why", why},
          {"footprint", FootprintJson(total)},
          {"gpus", std::move(parts)},
          {"arena", view.arena},
          {"resident_only", client.resident},
          {"contexts_swapped", view.contexts_away},
          {"unpreemptible", view.unpreemptible},
          {"unresponsive", view.unresponsive || IsUnresponsive(client, now, drain_limit)},
          {"share", lifetime > 0 ? std::min(1.0, Seconds(job.ran) / lifetime) : 0.0},
          {"share_wanted", gpu_share.wanted},
          {"share_got", gpu_share.got},
          {"policy", PolicyJson(job.policy, entry.policy_class)},
          {"quota", QuotaJson(job.quota)},
          {"wait_ms", WaitsJson(entry)},
          {"ran_s", Seconds(job.ran)},
          {"turns", job.turns},
          {"aligned_drains", job.aligned_drains},
          {"failed_drains", job.failed_drains},
          {"waited_s", Seconds(client.waited + waiting)},
          {"copied_out", client.copied_out},
          {"copied_in", client.copied_in},
          {"unchanged", client.unchanged},
          {"on_host", client.on_host.empty() ? json(nullptr) : OnHostJson(client)}};
}

}  // namespace

// Of the jobs that compete for a GPU: those that ran lately, or want to.
std::map<JobId, GpuShare> Core::Shares(const std::vector<scheduler::JobView>& jobs) const {
  using scheduler::JobState;
  std::map<JobId, std::set<GpuId>> gpus;
  for (const auto& [id, client] : clients_) {
    gpus[client.job].insert(client.admitted.begin(), client.admitted.end());
  }
  std::map<JobId, double> recent;
  std::map<JobId, double> weights;
  for (const auto& job : jobs) {
    const auto entry = jobs_.find(job.id);
    if (entry == jobs_.end()) continue;
    const auto& samples = entry->second.samples;
    const double ran = samples.empty() ? 0 : Seconds(job.ran - samples.front().second);
    if (ran == 0 && (job.state == JobState::kIdle || job.state == JobState::kPaused)) continue;
    recent[job.id] = ran;
    weights[job.id] = job.weight;
  }
  std::map<JobId, GpuShare> shares;
  for (const auto& [id, weight] : weights) {
    double all_weights = 0;
    double all_recent = 0;
    for (const auto& [other, other_weight] : weights) {
      const bool competes =
          std::ranges::any_of(gpus[other], [&](const GpuId gpu) { return gpus[id].contains(gpu); });
      if (other != id && !competes) continue;
      all_weights += other_weight;
      all_recent += recent[other];
    }
    shares[id] = {weight / all_weights, all_recent == 0 ? 0 : recent[id] / all_recent};
  }
  return shares;
}

// Of the first GPU, as the machine of a simulation.
std::string Core::TraceJson() const {
  json machine = {{"host_budget", host_budget_},
                  {"handover_share", settings_.handover_share},
                  {"slice_floor_s", Seconds(settings_.slice_floor)},
                  {"slice_ceiling_s", Seconds(settings_.slice_ceiling)},
                  {"max_wait_s", Seconds(settings_.max_wait)}};
  const auto gpus = scheduler_.Gpus();
  if (!gpus.empty()) {
    machine["gpus"] = gpus.size();
    machine["gpu_budget"] = gpus.front().config.budget;
  }
  if (const auto stats = handovers_.find(0); stats != handovers_.end()) {
    const auto rate = [](Bytes bytes, Time time) {
      return time > Time{0} ? static_cast<double>(bytes) / Seconds(time) : 0;
    };
    // Little is copied out of programs whose memory does not change.
    const double link = std::max(rate(stats->second.bytes_out, stats->second.out),
                                 rate(stats->second.bytes_in, stats->second.in));
    if (link > 0) machine["link"] = link;
  }
  return events_.ToJson(machine);
}

std::string Core::EventsJson(std::uint64_t since) const {
  json open = json::array();
  std::set<ClientId> live;
  for (const auto& [id, client] : clients_) {
    live.insert(id);
    for (const auto& [kind, began] : client.open_spans) {
      open.push_back({id, ToText(kind), TraceMicroseconds(began)});
    }
  }
  json answer = events_.Since(since, std::move(live));
  answer["pid"] = getpid();
  answer["now_us"] = TraceMicroseconds(clock_.Now());
  answer["open"] = std::move(open);
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Core::StatusJson(const MpsControls* mps) const {
  const Time now = clock_.Now();
  const auto jobs = scheduler_.Jobs();
  const auto views = scheduler_.Clients();
  json gpus = json::array();
  for (const auto& view : scheduler_.Gpus()) {
    const auto stats = handovers_.find(view.id);
    gpus.push_back(GpuJson(view, gpus_.at(view.id), views,
                           stats == handovers_.end() ? HandoverStats{} : stats->second, detached_,
                           scheduler_.MaxRequest(0, view.id)));
  }

  json clients = json::array();
  const auto shares = Shares(jobs);
  for (const auto& job : jobs) {
    const auto share = shares.find(job.id);
    const std::string why = WaitReasonText(job, WaitContextOf(job, jobs, views));
    for (const ClientId id : job.clients) {
      const auto client = clients_.find(id);
      const auto view = std::ranges::find(views, id, &scheduler::ClientView::id);
      if (client == clients_.end() || view == views.end()) continue;
      clients.push_back(ClientJson(client->second, jobs_.at(job.id), job, *view,
                                   share == shares.end() ? GpuShare{} : share->second, why, now,
                                   settings_.drain_limit));
      clients.back()["mps"] = mps != nullptr && mps->Uses(job.id);
    }
  }

  const json status = {
      {"version", REVEZA_VERSION},
      {"protocol", wire::kVersion},
      {"pid", getpid()},
      {"uptime_s", Seconds(now - started_)},
      {"gpu_budget", OrNull(settings_.gpu_budget)},
      {"usage_file", settings_.usage_file},
      {"host", {{"budget", host_budget_}, {"reserved", scheduler_.HostReserved()}}},
      {"mps",
       {{"mode", settings_.mps == MpsMode::kAuto ? "auto" : "off"},
        {"users", mps != nullptr ? mps->Json() : json::array()}}},
      {"gpus", std::move(gpus)},
      {"clients", std::move(clients)}};
  return status.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace reveza::daemon
