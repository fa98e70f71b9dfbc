// What is read from the API server.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/base/parse_number.h"
#include "reveza/jobs/cluster/kubernetes_objects.h"

namespace reveza::jobs {
namespace {

using nlohmann::json;

constexpr const char* kIndexAnnotation = "batch.kubernetes.io/job-completion-index";

std::string TextAt(const json& in, const char* key) {
  const auto found = in.find(key);
  return found != in.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json PartAt(const json& in, const char* key) {
  return in.is_object() ? in.value(key, json()) : json();
}

// Returns "REASON: MESSAGE", or what there is of them.
std::string Explain(const json& from) {
  std::string reason = TextAt(from, "reason");
  const std::string message = TextAt(from, "message");
  if (!reason.empty() && !message.empty()) reason += ": ";
  return reason + message;
}

json ConditionOf(const json& status, std::string_view type) {
  for (const json& condition : PartAt(status, "conditions")) {
    if (TextAt(condition, "type") == type) return condition;
  }
  return json::object();
}

bool IsTrue(const json& condition) { return TextAt(condition, "status") == "True"; }

// The state of the container that runs the task: {"terminated": ...} and the like.
json StateOfContainer(const json& pod) {
  const std::string name = TextAt(pod.at("spec").at("containers").at(0), "name");
  for (const json& status : PartAt(PartAt(pod, "status"), "containerStatuses")) {
    if (TextAt(status, "name") == name) return PartAt(status, "state");
  }
  return json::object();
}

// Returns why a pod has not started; "" if it says nothing of interest.
std::string WhyPending(const json& status) {
  const json scheduled = ConditionOf(status, "PodScheduled");
  if (TextAt(scheduled, "status") == "False") return Explain(scheduled);
  for (const char* key : {"initContainerStatuses", "containerStatuses"}) {
    for (const json& container : PartAt(status, key)) {
      const json waiting = PartAt(PartAt(container, "state"), "waiting");
      const std::string reason = waiting.is_object() ? TextAt(waiting, "reason") : "";
      if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing") {
        return Explain(waiting);
      }
    }
  }
  return {};
}

// Returns the state of a pod that has ended, whose container may have; nullopt: it has not ended.
std::optional<TaskState> EndOfPod(const json& pod, const json& terminated) {
  const json& status = pod.at("status");
  const std::string reason = TextAt(status, "reason");
  const bool is_deleted = pod.at("metadata").contains("deletionTimestamp");
  const bool has_failed = TextAt(status, "phase") == "Failed";
  if (!is_deleted && !has_failed && !terminated.is_object()) {
    return TextAt(status, "phase") == "Succeeded" ? std::optional(TaskState::kEnded) : std::nullopt;
  }
  if (terminated.is_object() && terminated.value("exitCode", 1) == 0) return TaskState::kEnded;
  if (reason == "DeadlineExceeded") return TaskState::kTimeLimit;
  if (reason == "Evicted") {
    // What the node needed most; of memory the pod had more than it had asked for.
    return TextAt(status, "message").contains("resource: memory") ? TaskState::kOutOfMemory
                                                                  : TaskState::kCancelled;
  }
  if (terminated.is_object() && TextAt(terminated, "reason") == "OOMKilled") {
    return TaskState::kOutOfMemory;
  }
  if (IsTrue(ConditionOf(status, "DisruptionTarget"))) return TaskState::kNodeLost;
  // Whether a pod that is being deleted has ended only its node knows.
  if (is_deleted) return terminated.is_object() ? TaskState::kCancelled : TaskState::kNodeLost;
  // Without a container it was refused by its node.
  return terminated.is_object() ? TaskState::kEnded : TaskState::kCancelled;
}

TaskReport ReportOfPod(const json& pod) {
  TaskReport report;
  const json& status = pod.at("status");
  const json state = StateOfContainer(pod);
  const json terminated = PartAt(state, "terminated");
  if (const auto end = EndOfPod(pod, terminated)) {
    report.state = *end;
    // Its node has said so, not somebody who has given up on the node.
    report.is_gone =
        terminated.is_object() && TextAt(terminated, "reason") != "ContainerStatusUnknown";
    report.reason = terminated.is_object() ? TextAt(terminated, "message") : Explain(status);
  } else if (PartAt(state, "running").is_object() || TextAt(status, "phase") == "Running") {
    report.state = TaskState::kRunning;
  } else {
    report.state = TaskState::kPending;
    report.reason = WhyPending(status);
  }
  const json limits = PartAt(PartAt(pod.at("spec").at("containers").at(0), "resources"), "limits");
  if (limits.is_object()) report.memory = ParseQuantity(TextAt(limits, "memory"));
  return report;
}

// Reads "0,2-5", in which indexes are from 0, as tasks, which are from 1.
std::set<std::uint32_t> TasksOf(std::string_view indexes) {
  std::set<std::uint32_t> tasks;
  for (const std::string_view part : SplitFields(indexes, ',')) {
    const auto ends = SplitFields(part, '-');
    const auto first = ParseNumber<std::uint32_t>(ends.front());
    const auto last = ParseNumber<std::uint32_t>(ends.back());
    for (std::uint32_t i = first.value_or(1); last && i <= *last; ++i) tasks.insert(i + 1);
  }
  return tasks;
}

// Adds the tasks of a Job that have no pod.
void AddTasksWithoutPod(const json& job, const std::string& array,
                        const std::set<std::uint32_t>& with_pod, JobList& list) {
  const json status = PartAt(job, "status");
  const auto done = TasksOf(TextAt(status, "completedIndexes"));
  const auto failed = TasksOf(TextAt(status, "failedIndexes"));
  const json suspended = ConditionOf(status, "Suspended");
  const bool has_ended =
      IsTrue(ConditionOf(status, "Failed")) || IsTrue(ConditionOf(status, "Complete"));
  const auto count = job.at("spec").at("completions").get<std::uint32_t>();
  for (std::uint32_t task = 1; task <= count; ++task) {
    if (with_pod.contains(task)) continue;
    TaskReport report{.array = array, .task = task, .state = TaskState::kPending};
    if (done.contains(task)) {
      report.state = TaskState::kEnded;
    } else if (failed.contains(task) || has_ended) {
      report.state = TaskState::kNodeLost;  // its pod was deleted
    } else if (IsTrue(suspended)) {
      report.reason = Explain(suspended);
    } else {
      list.unexplained.emplace(TextAt(job.at("metadata"), "name"), list.reports.size());
    }
    list.reports.push_back(std::move(report));
  }
}

}  // namespace

Result<JobList> ParseJobList(std::string_view text,
                             const std::map<std::string, std::string, std::less<>>& arrays) {
  JobList list;
  std::map<std::string, std::set<std::uint32_t>> with_pod;  // by array
  const json parsed = json::parse(text, nullptr, false);
  try {
    for (const json& object : parsed.at("items")) {
      const json& metadata = object.at("metadata");
      const auto array = arrays.find(TextAt(PartAt(metadata, "labels"), kArrayLabel));
      if (TextAt(object, "kind") != "Pod" || array == arrays.end()) continue;
      const auto index =
          ParseNumber<std::uint32_t>(TextAt(PartAt(metadata, "annotations"), kIndexAnnotation));
      if (!index) continue;
      TaskReport report = ReportOfPod(object);
      report.array = array->second;
      report.task = *index + 1;
      with_pod[array->second].insert(report.task);
      if (report.state == TaskState::kPending && report.reason.empty()) {
        list.unexplained.emplace(TextAt(metadata, "name"), list.reports.size());
      }
      list.reports.push_back(std::move(report));
    }
    for (const json& object : parsed.at("items")) {
      const auto array = arrays.find(TextAt(object.at("metadata"), "name"));
      if (TextAt(object, "kind") != "Job" || array == arrays.end()) continue;
      AddTasksWithoutPod(object, array->second, with_pod[array->second], list);
    }
  } catch (const json::exception& error) {
    return Fail(Error::Code::kInvalidArgument, "kubectl: not a list of Jobs and pods: {}",
                error.what());
  }
  return list;
}

void ExplainByEvents(std::string_view text, JobList& list) {
  const json parsed = json::parse(text, nullptr, false);
  for (const json& event : PartAt(parsed, "items")) {
    const json about = PartAt(event, "involvedObject");
    if (!about.is_object()) continue;
    const auto [first, last] = list.unexplained.equal_range(TextAt(about, "name"));
    for (auto each = first; each != last; ++each) {
      list.reports[each->second].reason = Explain(event);
    }
  }
}

std::optional<Bytes> ParseQuantity(std::string_view text) {
  constexpr auto kUnits = std::to_array<std::pair<std::string_view, double>>({
      {"", 1},
      {"Ki", 0x1p10},
      {"Mi", 0x1p20},
      {"Gi", 0x1p30},
      {"Ti", 0x1p40},
      {"Pi", 0x1p50},
      {"k", 1e3},
      {"M", 1e6},
      {"G", 1e9},
      {"T", 1e12},
      {"P", 1e15},
      {"m", 1e-3},
  });
  double number = 0;
  const char* last = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), last, number, std::chars_format::fixed);
  if (error != std::errc() || number <= 0) return std::nullopt;
  const auto* unit = std::ranges::find(kUnits, std::string_view(rest, last),
                                       &std::pair<std::string_view, double>::first);
  if (unit == kUnits.end()) return std::nullopt;
  return static_cast<Bytes>(number * unit->second);
}

}  // namespace reveza::jobs
