// What `reveza status` shows, as JSON.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/core.h"
#include "platform/process.h"

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

json HandoverJson(const HandoverSums& sums) {
  const double copying = Seconds(sums.out) + Seconds(sums.in);
  const auto bytes = static_cast<double>(sums.bytes_out + sums.bytes_in);
  return {{"count", sums.count},
          {"mean_ms", MeanMilliseconds(sums.total, sums.count)},
          {"drain_ms", MeanMilliseconds(sums.drain, sums.drains)},
          {"out_ms", MeanMilliseconds(sums.out, sums.outs)},
          {"in_ms", MeanMilliseconds(sums.in, sums.ins)},
          {"bytes_out", sums.bytes_out},
          {"bytes_in", sums.bytes_in},
          {"gb_per_s", copying > 0 ? bytes / copying / 1e9 : 0.0}};
}

json OutsideJson(const Gpu& gpu, const std::map<pid_t, ClientEntry>& lone) {
  json list = json::array();
  for (const auto& [pid, bytes] : gpu.lone) {
    const auto entry = lone.find(pid);
    list.push_back({{"pid", pid},
                    {"command", entry == lone.end() ? "" : entry->second.command},
                    {"bytes", bytes},
                    {"lost", true}});
  }
  for (const Outsider& outsider : gpu.outsiders) {
    list.push_back({{"pid", outsider.pid},
                    {"command", platform::ProcessCommand(outsider.pid)},
                    {"bytes", outsider.bytes},
                    {"lost", false}});
  }
  return list;
}

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

// An order that should long have been answered.
bool IsSilent(const ClientEntry& client, Time now, Time drain_limit) {
  constexpr Time copying = std::chrono::seconds(30);
  if (client.given_up != 0) return true;
  if (client.close && now - client.close->sent > drain_limit + std::chrono::seconds(2)) return true;
  return std::ranges::any_of(client.evict,
                             [&](const auto& entry) { return now - entry.second.sent > copying; });
}

}  // namespace

std::string Core::StatusJson() const {
  const Time now = clock_.Now();
  const auto jobs = scheduler_.Jobs();
  const auto views = scheduler_.Clients();
  json gpus = json::array();
  for (const auto& view : scheduler_.Gpus()) {
    const Gpu& gpu = gpus_.at(view.id);
    Bytes resident = 0;
    Bytes swapped = 0;
    for (const auto& client : views) {
      for (const auto& part : client.gpus) {
        if (part.gpu != view.id) continue;
        resident += part.footprint.resident + part.footprint.Fixed();
        swapped += part.footprint.swapped;
      }
    }
    const auto sums = handovers_.find(view.id);
    gpus.push_back(
        {{"index", view.id},
         {"uuid", platform::FormatUuid(gpu.uuid)},
         {"name", gpu.name},
         {"total", gpu.config.total},
         {"budget", gpu.config.budget},
         {"resident", resident},
         {"swapped", swapped},
         {"credit", view.credit_out},
         {"external", view.external},
         {"used", OrNull(gpu.used)},
         {"outside", OutsideJson(gpu, lone_)},
         {"handover", HandoverJson(sums == handovers_.end() ? HandoverSums{} : sums->second)}});
  }

  json clients = json::array();
  for (const auto& job : jobs) {
    const std::string why = WhyText(job, WorldOf(job, jobs, views));
    for (const ClientId id : job.clients) {
      const auto found = clients_.find(id);
      const auto view = std::ranges::find(views, id, &scheduler::ClientView::id);
      if (found == clients_.end() || view == views.end()) continue;
      const ClientEntry& client = found->second;
      scheduler::Footprint whole;
      json parts = json::array();
      for (const auto& part : view->gpus) {
        json entry = FootprintJson(part.footprint);
        entry["gpu"] = part.gpu;
        entry["credit"] = part.credit;
        parts.push_back(std::move(entry));
        whole.resident += part.footprint.resident;
        whole.swapped += part.footprint.swapped;
        whole.pinned += part.footprint.pinned;
        whole.context += part.footprint.context;
      }
      const auto waits = client.since.find(EventKind::kWait);
      const Time waiting = waits == client.since.end() ? Time(0) : now - waits->second;
      const double lived = Seconds(now - client.joined);
      char job_text[24];
      std::snprintf(job_text, sizeof(job_text), "%016llx",
                    static_cast<unsigned long long>(client.job));
      clients.push_back({{"pid", client.peer.pid},
                         {"name", client.name},
                         {"command", client.command},
                         {"job", job_text},
                         {"state", scheduler::ToText(job.state)},
                         {"why", why},
                         {"footprint", FootprintJson(whole)},
                         {"gpus", std::move(parts)},
                         {"arena", view->arena},
                         {"resident_only", client.resident},
                         {"unpreemptible", view->unpreemptible},
                         {"not_answering", IsSilent(client, now, settings_.drain_limit)},
                         {"share", lived > 0 ? std::min(1.0, Seconds(job.ran) / lived) : 0.0},
                         {"ran_s", Seconds(job.ran)},
                         {"turns", job.turns},
                         {"waited_s", Seconds(client.waited + waiting)},
                         {"copied_out", client.copied_out},
                         {"copied_in", client.copied_in}});
    }
  }

  const json status = {
      {"version", REVEZA_VERSION},
      {"protocol", wire::kVersion},
      {"pid", getpid()},
      {"uptime_s", Seconds(now - started_)},
      {"gpu_budget", OrNull(settings_.gpu_budget)},
      {"host", {{"budget", host_budget_}, {"reserved", scheduler_.HostReserved()}}},
      {"gpus", std::move(gpus)},
      {"clients", std::move(clients)}};
  return status.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace reveza::daemon
