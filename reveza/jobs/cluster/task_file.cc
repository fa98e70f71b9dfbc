#include "reveza/jobs/cluster/task_file.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/job_json.h"

namespace reveza::jobs {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

json RequestToJson(const RunRequest& request) {
  return {{"retries", request.retries},
          {"hold", request.on_unknown == OnUnknown::kHold},
          {"limits", static_cast<int>(request.limits)},
          {"durable", request.durable},
          {"cpus", OrNull(request.cpu_budget)}};
}

RunRequest RequestFromJson(const json& from) {
  RunRequest request;
  from.at("retries").get_to(request.retries);
  request.on_unknown = from.at("hold").get<bool>() ? OnUnknown::kHold : OnUnknown::kRetry;
  request.limits = static_cast<Limits>(from.at("limits").get<int>());
  from.at("durable").get_to(request.durable);
  if (!from.at("cpus").is_null()) request.cpu_budget = from.at("cpus").get<double>();
  return request;
}

TaskFile TaskFromJson(const json& from, Job job) {
  TaskFile task{std::move(job), {}, RequestFromJson(from.at("request"))};
  task.job.name = from.at("name").get<std::string>();
  for (const auto& one : from.at("known")) {
    const auto identity = ParseIdentity(one.at("identity").get<std::string>());
    task.known.push_back({identity.value_or(Identity{}), one.at("attempts").get<std::uint32_t>(),
                          one.at("cycles").get<std::uint64_t>()});
    task.job.steps.at(task.known.size() - 1).number = one.at("number").get<std::uint32_t>();
  }
  return task;
}

}  // namespace

std::string FormatTask(const TaskFile& task) {
  json known = json::array();
  for (std::size_t i = 0; i < task.known.size(); ++i) {
    const auto& [identity, attempts, cycles] = task.known[i];
    known.push_back({{"identity", FormatIdentity(identity)},
                     {"number", NumberOf(task.job, i)},
                     {"attempts", attempts},
                     {"cycles", cycles}});
  }
  return json{{"format", kFormat},
              {"name", task.job.name},
              {"job", ToJson(task.job)},
              {"known", std::move(known)},
              {"request", RequestToJson(task.request)}}
      .dump();
}

Result<TaskFile> ParseTask(std::string_view text) {
  const json from = json::parse(text, nullptr, false);
  try {
    if (from.is_discarded() || from.at("format").get<int>() != kFormat) {
      return Fail(Error::Code::kIncompatible, "not the task of an array, or of another version");
    }
    ASSIGN_OR_RETURN(auto job, JobFromJson(from.at("job")));
    if (from.at("known").size() != job.steps.size()) {
      return Fail(Error::Code::kIncompatible, "the task of an array lacks steps");
    }
    return TaskFromJson(from, std::move(job));
  } catch (const std::exception& error) {
    return Fail(Error::Code::kIncompatible, "not the task of an array: {}", error.what());
  }
}

void KeepUsedCommands(Job& job) {
  std::map<std::uint32_t, std::uint32_t> places;
  std::vector<Command> used;
  for (Step& step : job.steps) {
    const auto [place, is_new] =
        places.emplace(step.command, static_cast<std::uint32_t>(used.size()));
    if (is_new) used.push_back(job.commands[step.command]);
    step.command = place->second;
  }
  job.commands = std::move(used);
}

}  // namespace reveza::jobs
