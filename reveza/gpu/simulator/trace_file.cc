#include "reveza/gpu/simulator/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "common/base/parse_number.h"
#include "common/settings/document.h"
#include "reveza/gpu/scheduler/policy_text.h"

namespace reveza::simulator {
namespace {

using std::chrono::duration_cast;

const Node* Find(const Node& table, std::string_view key) {
  const auto found = std::ranges::find(table.members, key, &Member::key);
  return found == table.members.end() ? nullptr : &found->value;
}

std::string_view Text(const Node& table, std::string_view key) {
  const Node* const node = Find(table, key);
  return node == nullptr ? std::string_view() : std::string_view(node->text);
}

double Number(const Node& table, std::string_view key, double otherwise = 0) {
  return ParseNumber<double>(Text(table, key)).value_or(otherwise);
}

Time FromSeconds(double seconds) {
  return duration_cast<Time>(std::chrono::duration<double>(seconds));
}
Time FromMicroseconds(double microseconds) { return FromSeconds(microseconds / 1e6); }

// What is known of a job while the events are read.
struct TracedJob {
  std::string name;
  std::map<std::string, Bytes, std::less<>> memory;  // of each process
  Bytes context = 0;
  scheduler::Policy policy;
  std::map<std::string, Time, std::less<>> ran;  // likewise
  std::optional<Time> begin;
  Time end{0};
  Time waited{0};
  Time drained{0};
  int drains = 0;
  int waits = 0;
};

void ReadFacts(const Node& arguments, std::string_view process, TracedJob& job) {
  if (job.name.empty()) job.name = Text(arguments, "name");
  job.memory[std::string(process)] = static_cast<Bytes>(Number(arguments, "memory"));
  job.context += static_cast<Bytes>(Number(arguments, "context"));
  job.policy.weight = std::clamp(Number(arguments, "weight", 1), scheduler::Policy::kMinWeight,
                                 scheduler::Policy::kMaxWeight);
  job.policy.priority =
      scheduler::ParsePriority(Text(arguments, "priority")).value_or(scheduler::Priority::kNormal);
  job.policy.interactive = Text(arguments, "interactive") == "true";
  job.policy.request = static_cast<Bytes>(Number(arguments, "request"));
  const double limit = Number(arguments, "limit");
  if (limit > 0) job.policy.limit = static_cast<Bytes>(limit);
}

void ReadSpan(const Node& event, std::string_view process, TracedJob& job) {
  const std::string_view what = Text(event, "name");
  const Time begin = FromMicroseconds(Number(event, "ts"));
  const Time length = FromMicroseconds(Number(event, "dur"));
  job.begin = std::min(job.begin.value_or(begin), begin);
  job.end = std::max(job.end, begin + length);
  if (what == "slice" || what.starts_with("drain")) job.ran[std::string(process)] += length;
  if (what.starts_with("drain")) {
    job.drained += length;
    ++job.drains;
  }
  if (what.starts_with("wait")) {
    job.waited += length;
    ++job.waits;
  }
}

void ReadMachine(const Node& machine, WorldConfig& node) {
  const auto gpus = static_cast<std::size_t>(std::clamp(Number(machine, "gpus", 1), 1.0, 16.0));
  const double budget = Number(machine, "gpu_budget", static_cast<double>(node.budgets[0]));
  node.budgets.assign(gpus, static_cast<Bytes>(budget));
  node.link_bandwidth = node.scheduler.link_estimate =
      std::max(Number(machine, "link", node.link_bandwidth), 1e6);
  scheduler::Config& config = node.scheduler;
  config.host_budget =
      static_cast<Bytes>(Number(machine, "host_budget", static_cast<double>(config.host_budget)));
  config.handover_share = Number(machine, "handover_share", config.handover_share);
  for (const auto& [key, time] : {std::pair("slice_floor_s", &config.slice_floor),
                                  std::pair("slice_ceiling_s", &config.slice_ceiling),
                                  std::pair("max_wait_s", &config.max_wait)}) {
    const double seconds = Number(machine, key);
    if (seconds > 0) *time = FromSeconds(seconds);
  }
}

std::optional<JobGroup> GroupOf(const TracedJob& job, Time origin) {
  JobGroup group = DefaultJob();
  group.name = job.name;
  group.plan.context = job.context;
  group.plan.policy = job.policy;
  for (const auto& [process, bytes] : job.memory) group.plan.footprint += bytes;
  group.plan.max_footprint = group.plan.footprint;
  for (const auto& [process, ran] : job.ran) group.plan.work = std::max(group.plan.work, ran);
  if (!job.begin || group.plan.work == Time(0) || group.plan.footprint == 0) return std::nullopt;
  group.start = *job.begin - origin;
  if (job.drains > 0) {
    group.plan.step = std::max<Time>(2 * job.drained / job.drains, std::chrono::milliseconds(1));
  }
  const Time slept = job.end - *job.begin - group.plan.work - job.waited;
  if (job.waits > 1 && slept > group.plan.work / 20) {
    group.busy = group.plan.work / job.waits;
    group.plan.sleep_time = slept / job.waits;
  }
  return group;
}

}  // namespace

Result<WorldFile> ParseTrace(std::string_view text, std::string_view name) {
  ASSIGN_OR_RETURN(const Node root, ParseJson(text, name));
  const Node* const events = Find(root, "traceEvents");
  if (events == nullptr) {
    return InvalidArgument("{} is not a trace; write one with `reveza trace {}`", name, name);
  }
  WorldFile world = DefaultWorld();
  // What it recorded as GPU time has the others' kernels in it.
  world.node.kernels = Kernels::kIndependent;
  if (const Node* const machine = Find(root, "otherData")) ReadMachine(*machine, world.node);
  std::map<int, TracedJob> jobs;
  for (const Node& event : events->items) {
    TracedJob& job = jobs[static_cast<int>(Number(event, "pid"))];
    const std::string_view process = Text(event, "tid");
    const Node* const arguments = Find(event, "args");
    if (Text(event, "name") == "process_name" && arguments != nullptr) {
      ReadFacts(*arguments, process, job);
    } else if (Text(event, "ph") == "X") {
      ReadSpan(event, process, job);
    }
  }
  std::optional<Time> origin;
  for (const auto& [row, job] : jobs) {
    if (job.begin) origin = std::min(origin.value_or(*job.begin), *job.begin);
  }
  for (const auto& [row, job] : jobs) {
    if (auto group = GroupOf(job, origin.value_or(Time(0))))
      world.jobs.push_back(*std::move(group));
  }
  if (world.jobs.empty()) return InvalidArgument("no job in {} had GPU memory and ran", name);
  return world;
}

}  // namespace reveza::simulator
