#include "reveza/insight/monitor/daemon_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "reveza/insight/monitor/json_fields.h"
#include "reveza/insight/monitor/text.h"

namespace reveza::monitor {
namespace {

using nlohmann::json;

Gpu ReadGpu(const json& entry) {
  Gpu gpu;
  gpu.index = CountAt(entry, "index");
  gpu.uuid = TextAt(entry, "uuid");
  gpu.name = TextAt(entry, "name");
  gpu.total = CountAt(entry, "total");
  gpu.used = CountAt(entry, "used");
  gpu.budget = CountAt(entry, "budget");
  gpu.resident = CountAt(entry, "resident");
  gpu.swapped = CountAt(entry, "swapped");
  gpu.external = CountAt(entry, "external");
  const json& handover = ObjectAt(entry, "handover");
  if (const auto count = CountAt(handover, "count")) {
    Handovers handovers;
    handovers.count = *count;
    const auto mean = NumberAt(handover, "mean_ms");
    // Without handovers the mean is undefined.
    if (mean && *count > 0) handovers.mean_seconds = *mean / 1000;
    gpu.handovers = handovers;
  }
  gpu.swapped_out_all = CountAt(handover, "bytes_out");
  gpu.swapped_in_all = CountAt(handover, "bytes_in");
  gpu.unchanged_all = CountAt(handover, "bytes_unchanged");
  return gpu;
}

// Adds what a further daemon has of a GPU. To each, programs of the other are external.
void AddGpu(Gpu& gpu, const Gpu& further) {
  const auto less = [](std::optional<Bytes> all, std::optional<Bytes> part) {
    return all ? std::optional(*all - std::min(*all, part.value_or(0))) : all;
  };
  gpu.external = less(gpu.external, further.resident);
  AddTo(gpu.budget, further.budget);
  AddTo(gpu.resident, further.resident);
  AddTo(gpu.swapped, further.swapped);
  AddTo(gpu.swapped_out_all, further.swapped_out_all);
  AddTo(gpu.swapped_in_all, further.swapped_in_all);
  AddTo(gpu.unchanged_all, further.unchanged_all);
  if (!further.handovers) return;
  Handovers& sum = gpu.handovers ? *gpu.handovers : gpu.handovers.emplace();
  const auto seconds = [](const Handovers& handovers) {
    return static_cast<double>(handovers.count) * handovers.mean_seconds.value_or(0);
  };
  const double all = seconds(sum) + seconds(*further.handovers);
  sum.count += further.handovers->count;
  if (sum.count > 0) sum.mean_seconds = all / static_cast<double>(sum.count);
}

// Programs of one daemon are no external processes, whatever another one says.
void RemoveManaged(Snapshot& snapshot) {
  std::set<std::pair<std::string, pid_t>> seen;
  std::erase_if(snapshot.outside, [&](const ExternalProcess& outside) {
    if (outside.pid == 0) return false;
    return std::ranges::find(snapshot.clients, outside.pid, &Client::pid) !=
               snapshot.clients.end() ||
           !seen.emplace(outside.gpu, outside.pid).second;
  });
}

void ReadExternalProcesses(const json& gpu, bool same_pid_namespace, Snapshot& snapshot) {
  for (const auto& entry : ArrayAt(gpu, "outside")) {
    ExternalProcess outside;
    outside.pid = same_pid_namespace ? PidAt(entry, "pid") : 0;
    outside.gpu = TextAt(gpu, "uuid");
    outside.command = TextAt(entry, "command");
    outside.used = CountAt(entry, "bytes");
    snapshot.outside.push_back(std::move(outside));
  }
}

std::optional<WaitTimes> ReadWaits(const json& waits) {
  const auto p50 = NumberAt(waits, "p50");
  const auto p95 = NumberAt(waits, "p95");
  const auto p99 = NumberAt(waits, "p99");
  if (CountAt(waits, "count").value_or(0) == 0 || !p50 || !p95 || !p99) return std::nullopt;
  return WaitTimes{*p50 / 1000, *p95 / 1000, *p99 / 1000};
}

ClientMemory ReadMemory(const json& entry) {
  ClientMemory memory;
  memory.gpu = CountAt(entry, "gpu");
  const auto resident = CountAt(entry, "resident");
  const auto pinned = CountAt(entry, "pinned");
  const auto context = CountAt(entry, "context");
  if (resident && pinned && context) memory.resident = *resident + *pinned + *context;
  memory.swapped = CountAt(entry, "swapped");
  return memory;
}

Client ReadClient(const json& entry, bool same_pid_namespace) {
  Client client;
  client.pid = same_pid_namespace ? PidAt(entry, "pid") : 0;
  client.name = TextAt(entry, "name");
  client.command = TextAt(entry, "command");
  client.job = TextAt(entry, "job");
  client.state = TextAt(entry, "state");
  client.why = TextAt(entry, "why");
  const json& footprint = ObjectAt(entry, "footprint");
  client.resident = CountAt(footprint, "resident");
  client.swapped = CountAt(footprint, "swapped");
  const auto pinned = CountAt(footprint, "pinned");
  const auto context = CountAt(footprint, "context");
  if (pinned && context) client.fixed = *pinned + *context;
  client.policy = PolicyText(ObjectAt(entry, "policy"));
  client.share = NumberAt(entry, "share");
  client.share_wanted = NumberAt(entry, "share_wanted");
  client.share_got = NumberAt(entry, "share_got");
  client.waits = ReadWaits(ObjectAt(entry, "wait_ms"));
  for (const auto& part : ArrayAt(entry, "gpus")) client.gpus.push_back(ReadMemory(part));
  client.turns = CountAt(entry, "turns");
  client.ran_seconds = NumberAt(entry, "ran_s");
  client.waited_seconds = NumberAt(entry, "waited_s");
  client.copied_out = CountAt(entry, "copied_out");
  client.copied_in = CountAt(entry, "copied_in");
  client.unresponsive = FlagAt(entry, "unresponsive").value_or(false);
  client.unpreemptible = FlagAt(entry, "unpreemptible").value_or(false);
  return client;
}

}  // namespace

std::string PolicyText(const json& policy) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const std::string name = TextAt(policy, "class"); !name.empty()) add("class " + name);
  if (FlagAt(policy, "interactive").value_or(false)) add("interactive");
  const std::string priority = TextAt(policy, "priority");
  if (!priority.empty() && priority != "normal") add(priority + " priority");
  if (const double weight = NumberAt(policy, "weight").value_or(1); weight != 1) {
    add(fmt::format("weight {:g}", weight));
  }
  if (const Bytes request = CountAt(policy, "memory_request").value_or(0); request > 0) {
    add(fmt::format("{} kept for it", FormatBytes(request)));
  }
  if (const auto limit = CountAt(policy, "memory_limit")) {
    add(fmt::format("at most {}", FormatBytes(*limit)));
  }
  return text;
}

void ReadDaemonStatus(const json& status, bool same_pid_namespace, Snapshot& snapshot,
                      const std::string& socket) {
  if (!status.is_object()) return;
  Daemon daemon;
  daemon.socket = socket;
  daemon.version = TextAt(status, "version");
  daemon.pid = same_pid_namespace ? PidAt(status, "pid") : 0;
  daemon.uptime_seconds = NumberAt(status, "uptime_s");
  const json& host = ObjectAt(status, "host");
  daemon.host_budget = CountAt(host, "budget");
  daemon.host_reserved = CountAt(host, "reserved");
  const bool further = snapshot.daemon.has_value();
  if (further) {
    snapshot.further_daemons.push_back(std::move(daemon));
  } else {
    snapshot.daemon = std::move(daemon);
  }
  for (const auto& entry : ArrayAt(status, "gpus")) {
    Gpu gpu = ReadGpu(entry);
    const auto known =
        further ? std::ranges::find(snapshot.gpus, gpu.uuid, &Gpu::uuid) : snapshot.gpus.end();
    if (known == snapshot.gpus.end()) {
      snapshot.gpus.push_back(std::move(gpu));
    } else {
      AddGpu(*known, gpu);
    }
    ReadExternalProcesses(entry, same_pid_namespace, snapshot);
  }
  for (const auto& entry : ArrayAt(status, "clients")) {
    snapshot.clients.push_back(ReadClient(entry, same_pid_namespace));
  }
  if (further) RemoveManaged(snapshot);
}

}  // namespace reveza::monitor
