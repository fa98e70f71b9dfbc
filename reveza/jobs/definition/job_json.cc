#include "reveza/jobs/definition/job_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/json_text.h"

namespace reveza::jobs {
namespace {

using nlohmann::json;

template <typename T>
std::optional<T> Optional(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

bool IsAscii(const std::string& text) {
  return std::ranges::none_of(text,
                              [](char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; });
}

bool IsUtf8(const std::string& text) {
  if (IsAscii(text)) return true;
  // Invalid sequences do not survive a round trip.
  return json::parse(JsonText(json(text))) == json(text);
}

json StringsToJson(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const auto& text : texts) list.push_back(TextToJson(text));
  return list;
}

std::vector<std::string> StringsFromJson(const json& list) {
  std::vector<std::string> texts;
  for (const auto& text : list) texts.push_back(TextFromJson(text));
  return texts;
}

json PairToJson(std::string_view name, std::string_view value) {
  return json::array({TextToJson(std::string(name)), TextToJson(std::string(value))});
}

std::pair<std::string, std::string> PairFromJson(const json& from) {
  return {TextFromJson(from.at(0)), TextFromJson(from.at(1))};
}

json ToJson(const Command& command) {
  json environment = json::array();
  for (const auto& [name, value] : command.environment) {
    environment.push_back(PairToJson(name, value));
  }
  json made = {{"arguments", StringsToJson(command.arguments)},
               {"shell", command.shell},
               {"folder", TextToJson(command.folder.string())},
               {"environment", std::move(environment)},
               {"identity_variables", StringsToJson(command.identity_variables)},
               {"inputs", StringsToJson(command.inputs)},
               {"priority", command.priority},
               {"cpus", OrNull(command.claim.cpus)},
               {"memory", OrNull(command.claim.memory)},
               {"gpu_memory", OrNull(command.claim.gpu_memory)}};
  made["time_limit"] = command.time_limit ? json(command.time_limit->count()) : json();
  if (!command.memory_template.empty()) {
    made["memory_template"] = TextToJson(command.memory_template);
  }
  if (command.cycles) made["cycles"] = {command.cycles->count, command.cycles->chain};
  return made;
}

Command CommandFromJson(const json& from) {
  Command command;
  command.arguments = StringsFromJson(from.at("arguments"));
  from.at("shell").get_to(command.shell);
  command.folder = TextFromJson(from.at("folder"));
  for (const auto& variable : from.at("environment")) {
    command.environment.push_back(PairFromJson(variable));
  }
  command.identity_variables = StringsFromJson(from.at("identity_variables"));
  command.inputs = StringsFromJson(from.at("inputs"));
  from.at("priority").get_to(command.priority);
  command.claim = {Optional<double>(from.at("cpus")), Optional<Bytes>(from.at("memory")),
                   Optional<Bytes>(from.at("gpu_memory"))};
  if (const auto limit = Optional<std::int64_t>(from.at("time_limit"))) {
    command.time_limit = std::chrono::nanoseconds(*limit);
  }
  if (from.contains("memory_template")) {
    command.memory_template = TextFromJson(from["memory_template"]);
  }
  if (from.contains("cycles")) {
    command.cycles = Cycles{from["cycles"].at(0), from["cycles"].at(1)};
  }
  return command;
}

Job ParsedJob(const json& from) {
  Job job;
  for (const auto& command : from.at("commands")) job.commands.push_back(CommandFromJson(command));
  ParametersBuilder builder;
  std::vector<Parameter> row;
  for (const auto& one : from.at("steps")) {
    Step step;
    one.at("command").get_to(step.command);
    row.clear();
    for (const auto& parameter : one.at("parameters")) {
      auto [name, value] = PairFromJson(parameter);
      row.push_back({std::move(name), std::move(value)});
    }
    step.parameters = builder.Add(row);
    one.at("after").get_to(step.after);
    job.steps.push_back(std::move(step));
  }
  return job;
}

// Returns whether all commands and dependencies that steps refer to exist.
bool HasValidIndices(const Job& job) {
  return std::ranges::all_of(job.steps, [&](const Step& step) {
    return step.command < job.commands.size() &&
           std::ranges::all_of(step.after, [&](auto before) { return before < job.steps.size(); });
  });
}

}  // namespace

json TextToJson(const std::string& text) {
  if (IsUtf8(text)) return text;
  return {{"bytes", std::vector<std::uint8_t>(text.begin(), text.end())}};
}

std::string TextFromJson(const json& from) {
  if (!from.is_object()) return from.get<std::string>();
  const auto bytes = from.at("bytes").get<std::vector<std::uint8_t>>();
  return {bytes.begin(), bytes.end()};
}

json ToJson(const Job& job) {
  json commands = json::array();
  for (const auto& command : job.commands) commands.push_back(ToJson(command));
  json steps = json::array();
  for (const auto& step : job.steps) {
    json parameters = json::array();
    for (const auto [name, value] : step.parameters) {
      parameters.push_back(PairToJson(name, value));
    }
    steps.push_back(
        {{"command", step.command}, {"parameters", std::move(parameters)}, {"after", step.after}});
  }
  return {{"commands", std::move(commands)}, {"steps", std::move(steps)}};
}

Result<Job> JobFromJson(const json& from) {
  try {
    Job job = ParsedJob(from);
    if (HasValidIndices(job)) return job;
    return Fail(Error::Code::kIncompatible,
                "not a job: a step refers to a missing command or step");
  } catch (const json::exception& error) {
    return Fail(Error::Code::kIncompatible, "not a job: {}", error.what());
  }
}

}  // namespace reveza::jobs
