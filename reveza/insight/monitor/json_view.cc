#include "reveza/insight/monitor/json_view.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "reveza/insight/monitor/rows.h"

namespace reveza::monitor {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json PidOrNull(pid_t pid) { return pid == 0 ? Json(nullptr) : Json(pid); }

Json ToJson(const std::optional<platform::PressureLine>& line) {
  if (!line) return nullptr;
  return {{"avg10", line->average_10s},
          {"avg60", line->average_60s},
          {"avg300", line->average_300s},
          {"total_us", line->total.count()}};
}

Json ToJson(const std::optional<platform::Pressure>& pressure) {
  if (!pressure) return nullptr;
  return {{"some", ToJson(std::optional(pressure->some))}, {"full", ToJson(pressure->full)}};
}

Json ToJson(const platform::Pressures& pressures) {
  return {{"cpu", ToJson(pressures.cpu)},
          {"memory", ToJson(pressures.memory)},
          {"io", ToJson(pressures.io)}};
}

// Builds an object without copying values, unlike an initializer list; a job may have thousands of
// steps.
class ObjectBuilder {
 public:
  ObjectBuilder& Add(const char* key, Json value) {
    object_.get_ref<Json::object_t&>().emplace_back(key, std::move(value));
    return *this;
  }
  Json Take() { return std::move(object_); }

 private:
  Json object_ = Json::object();
};

Json ToJson(const Usage& use) {
  return ObjectBuilder()
      .Add("cpu", OrNull(use.cpu))
      .Add("threads", OrNull(use.threads))
      .Add("processes", OrNull(use.processes))
      .Add("resident", OrNull(use.resident))
      .Add("proportional", OrNull(use.proportional))
      .Add("peak", OrNull(use.peak))
      .Add("io_read", OrNull(use.io_read))
      .Add("io_write", OrNull(use.io_write))
      .Take();
}

Json ToJson(const Machine& machine) {
  Json memory = nullptr;
  if (machine.memory) {
    memory = {{"total", machine.memory->total},
              {"available", machine.memory->available},
              {"swap_total", OrNull(machine.memory->swap_total)},
              {"swap_free", OrNull(machine.memory->swap_free)}};
  }
  return {
      {"cores", OrNull(machine.cores)},        {"cpu", OrNull(machine.cpu)},
      {"each_core", machine.each_core},        {"load", OrNull(machine.load)},
      {"memory", std::move(memory)},           {"cgroup_headroom", OrNull(machine.cgroup_headroom)},
      {"pressure", ToJson(machine.pressure)},  {"cgroup_pressure", ToJson(machine.cgroup_pressure)},
      {"processes", OrNull(machine.processes)}};
}

Json ToJson(const Gpu& gpu) {
  Json handovers = nullptr;
  if (gpu.handovers) {
    handovers = {{"count", gpu.handovers->count},
                 {"mean_seconds", OrNull(gpu.handovers->mean_seconds)},
                 {"rate", OrNull(gpu.handovers->rate)}};
  }
  return {{"index", OrNull(gpu.index)},
          {"uuid", gpu.uuid},
          {"name", gpu.name},
          {"total", OrNull(gpu.total)},
          {"used", OrNull(gpu.used)},
          {"budget", OrNull(gpu.budget)},
          {"resident", OrNull(gpu.resident)},
          {"swapped", OrNull(gpu.swapped)},
          {"external", OrNull(gpu.external)},
          {"sm_active", OrNull(gpu.sm_active)},
          {"some_kernel_resident", OrNull(gpu.some_resident)},
          {"link_out", OrNull(gpu.link_out)},
          {"link_in", OrNull(gpu.link_in)},
          {"swap_out", OrNull(gpu.swap_out)},
          {"swap_in", OrNull(gpu.swap_in)},
          {"swapped_out_all", OrNull(gpu.swapped_out_all)},
          {"swapped_in_all", OrNull(gpu.swapped_in_all)},
          {"unchanged_all", OrNull(gpu.unchanged_all)},
          {"handovers", std::move(handovers)}};
}

Json ToJson(const std::optional<WaitTimes>& waits) {
  if (!waits) return nullptr;
  return {{"p50_seconds", waits->p50}, {"p95_seconds", waits->p95}, {"p99_seconds", waits->p99}};
}

Json ToJson(const ClientMemory& memory) {
  return {{"gpu", OrNull(memory.gpu)},
          {"resident", OrNull(memory.resident)},
          {"swapped", OrNull(memory.swapped)}};
}

Json ToJson(const Client& client) {
  Json gpus = Json::array();
  for (const ClientMemory& memory : client.gpus) gpus.push_back(ToJson(memory));
  return {{"pid", PidOrNull(client.pid)},
          {"name", client.name},
          {"command", client.command},
          {"job", client.job},
          {"step", TextOrNull(client.step)},
          {"state", client.state},
          {"why", TextOrNull(client.why)},
          {"resident", OrNull(client.resident)},
          {"swapped", OrNull(client.swapped)},
          {"fixed", OrNull(client.fixed)},
          {"policy", TextOrNull(client.policy)},
          {"share", OrNull(client.share)},
          {"share_wanted", OrNull(client.share_wanted)},
          {"share_got", OrNull(client.share_got)},
          {"waits", ToJson(client.waits)},
          {"gpus", std::move(gpus)},
          {"turns", OrNull(client.turns)},
          {"waited_seconds", OrNull(client.waited_seconds)},
          {"swap_out", OrNull(client.swap_out)},
          {"swap_in", OrNull(client.swap_in)},
          {"unresponsive", client.unresponsive},
          {"unpreemptible", client.unpreemptible},
          {"use", ToJson(client.use)}};
}

Json ToJson(const Step& step) {
  Json cycle = nullptr;
  if (step.cycle) cycle = {{"done", step.cycle->done}, {"all", step.cycle->all}};
  return ObjectBuilder()
      .Add("step", step.number)
      .Add("label", step.label)
      .Add("attempt", OrNull(step.attempt))
      .Add("pid", PidOrNull(step.pid))
      .Add("command", TextOrNull(step.command))
      .Add("state", step.state)
      .Add("since", OrNull(step.since))
      .Add("memory", OrNull(step.memory))
      .Add("peak", OrNull(step.peak))
      .Add("claim", OrNull(step.claim))
      .Add("gpu_memory", OrNull(step.gpu_memory))
      .Add("cycle", std::move(cycle))
      .Add("use", ToJson(step.use))
      .Take();
}

Json ToJson(const Job& job) {
  Json running = Json::array();
  for (const Step& step : job.running) running.push_back(ToJson(step));
  Json metrics = Json::object();
  for (const auto& [name, metric] : job.metrics) {
    metrics[name] = {{"count", OrNull(metric.count)},
                     {"min", OrNull(metric.min)},
                     {"mean", OrNull(metric.mean)},
                     {"max", OrNull(metric.max)},
                     {"final", OrNull(metric.last)}};
  }
  return {{"id", job.id},
          {"name", job.name},
          {"state", job.state},
          {"pid", PidOrNull(job.pid)},
          {"began", OrNull(job.began)},
          {"folder", job.folder},
          {"command", job.command},
          {"steps",
           {{"all", OrNull(job.steps.all)},
            {"done", OrNull(job.steps.done)},
            {"running", OrNull(job.steps.running)},
            {"waiting", OrNull(job.steps.waiting)},
            {"failed", OrNull(job.steps.failed)},
            {"held", OrNull(job.steps.held)}}},
          {"workers",
           {{"now", OrNull(job.workers)},
            {"best", OrNull(job.best_workers)},
            {"settled", OrNull(job.workers_settled)},
            {"reason", TextOrNull(job.workers_reason)}}},
          {"rate", OrNull(job.rate)},
          {"eta_p50_seconds", OrNull(job.eta_p50_seconds)},
          {"eta_p90_seconds", OrNull(job.eta_p90_seconds)},
          {"waiting", TextOrNull(job.waiting)},
          {"running", std::move(running)},
          {"metrics", std::move(metrics)},
          {"use", ToJson(job.use)}};
}

Json ToJson(const ExternalProcess& outside) {
  return {{"pid", PidOrNull(outside.pid)},
          {"gpu", outside.gpu},
          {"command", outside.command},
          {"used", OrNull(outside.used)},
          {"use", ToJson(outside.use)}};
}

Json ToJson(const Daemon& daemon) {
  return {{"version", daemon.version},
          {"pid", PidOrNull(daemon.pid)},
          {"uptime_seconds", OrNull(daemon.uptime_seconds)},
          {"host_budget", OrNull(daemon.host_budget)},
          {"host_reserved", OrNull(daemon.host_reserved)},
          {"socket", TextOrNull(daemon.socket)}};
}

template <typename T>
Json ToArray(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(ToJson(value));
  return list;
}

template <typename T>
std::string CsvField(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

Json ToJson(const Snapshot& snapshot) {
  Json daemons = Json::array();
  if (snapshot.daemon) daemons.push_back(ToJson(*snapshot.daemon));
  for (const Daemon& daemon : snapshot.further_daemons) daemons.push_back(ToJson(daemon));
  return {{"version", 1},
          {"time", snapshot.time},
          {"machine", ToJson(snapshot.machine)},
          {"daemon", daemons.empty() ? Json(nullptr) : daemons.front()},
          {"daemons", std::move(daemons)},
          {"gpus", ToArray(snapshot.gpus)},
          {"clients", ToArray(snapshot.clients)},
          {"outside", ToArray(snapshot.outside)},
          {"jobs", ToArray(snapshot.jobs)},
          {"notes", snapshot.notes},
          {"process_files_read", snapshot.process_files_read},
          {"process_files_opened", snapshot.process_files_opened}};
}

std::string QuoteCsv(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CsvHeading() {
  return "time,kind,job,pid,name,state,cpu,memory,peak,claim,threads,gpu_resident,gpu_swapped,"
         "share,turns,waited_seconds,command,age,io_read,io_write\n";
}

std::string CsvRows(const Snapshot& snapshot) {
  std::string text;
  for (const Row& row : Rows(snapshot, {})) {
    const std::string pid = row.pid == 0 ? "" : std::to_string(row.pid);
    text += fmt::format("{:.3f},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                        snapshot.time, ToText(row.kind), QuoteCsv(row.job), pid, QuoteCsv(row.name),
                        QuoteCsv(row.state), CsvField(row.cpu), CsvField(row.memory),
                        CsvField(row.peak), CsvField(row.claim), CsvField(row.threads),
                        CsvField(row.gpu), CsvField(row.swapped), CsvField(row.share),
                        CsvField(row.turns), CsvField(row.waited_seconds), QuoteCsv(row.command),
                        CsvField(row.age), CsvField(row.io_read), CsvField(row.io_write));
  }
  return text;
}

}  // namespace reveza::monitor
