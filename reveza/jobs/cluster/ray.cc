#include "reveza/jobs/cluster/ray.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/run_program.h"
#include "common/platform/text_file.h"
#include "reveza/jobs/cluster/arrays.h"

extern "C" const unsigned char reveza_ray_script[];

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRayScript = "reveza_ray.py";
// Exit status of the script: the server does not answer.
constexpr int kNoAnswer = 75;

constexpr auto kRayStates = std::to_array<std::pair<std::string_view, TaskState>>({
    {"PENDING", TaskState::kPending},
    {"RUNNING", TaskState::kRunning},
    {"OUT_OF_MEMORY", TaskState::kOutOfMemory},
    {"CANCELLED", TaskState::kCancelled},
    {"LOST", TaskState::kNodeLost},
});

TaskState StateOfRayTask(std::string_view word) {
  const auto* found =
      std::ranges::find(kRayStates, word, &std::pair<std::string_view, TaskState>::first);
  return found == kRayStates.end() ? TaskState::kEnded : found->second;
}

// Runs the script of an array.
Result<std::string> RunScript(const fs::path& array, std::vector<std::string> words) {
  words.insert(words.begin(), {"python3", "-B", array / kRayScript});
  ASSIGN_OR_RETURN(auto output, platform::RunProgram(words, kCommandLimit, kMaxTaskList));
  if (output.status == 0) return std::move(output.out);
  return Fail(
      output.status == kNoAnswer ? Error::Code::kUnavailable : Error::Code::kInvalidArgument,
      LastLineOf(output));
}

}  // namespace

Result<std::unique_ptr<Ray>> Ray::Find() {
  if (const auto found = platform::RunProgram({"python3", "--version"}, kCommandLimit); !found) {
    return Fail(Error::Code::kNotFound,
                "--on ray: python3 is not in PATH; install Python 3.9 or later, which asks the "
                "cluster");
  }
  return std::unique_ptr<Ray>(new Ray);
}

ArrayScript Ray::Script(const fs::path& /*reveza*/, const fs::path& /*array*/) const {
  return {kRayScript, reinterpret_cast<const char*>(reveza_ray_script)};
}

Status Ray::Submit(const ArrayRequest& array) const {
  const auto output = RunScript(array.place.folder, {"submit", array.place.name, array.place.folder,
                                                     RayResources(array.resources), array.reveza});
  if (!output) return std::unexpected(output.error());
  return {};
}

Result<std::vector<TaskReport>> Ray::Tasks(std::span<const ArrayPlace> arrays) const {
  if (arrays.empty()) return std::vector<TaskReport>{};
  std::vector<std::string> words = {"tasks"};
  for (const ArrayPlace& array : arrays) {
    words.push_back(array.name);
    words.push_back(array.folder);
  }
  const auto output = RunScript(arrays.back().folder, std::move(words));
  if (output) return ParseRayTasks(*output);
  return Fail(Error::Code::kUnavailable, output.error().message);
}

std::vector<TaskReport> Ray::PastTasks(const ArrayPlace& /*array*/) const { return {}; }

Status Ray::Drain(const ArrayPlace& array) const { return TellTasks(array.folder, "drain"); }

Status Ray::Cancel(const ArrayPlace& array) const { return TellTasks(array.folder, "cancel"); }

bool Ray::SaysOutOfMemory(const fs::path& /*log*/) const { return false; }

std::string RayResources(const TaskResources& each) {
  nlohmann::json resources = {{"num_cpus", each.cpus}};
  if (each.memory) resources["memory"] = *each.memory;
  if (each.gpu) resources["num_gpus"] = 1;
  return resources.dump();
}

std::vector<TaskReport> ParseRayTasks(std::string_view text) {
  std::vector<TaskReport> reports;
  for (const std::string_view line : platform::Lines(text)) {
    const auto parts = SplitFields(line, '|');
    if (parts.size() < 4) continue;
    const auto task = ParseNumber<std::uint32_t>(parts[1]);
    if (!task) continue;
    reports.push_back(
        {std::string(parts[0]), *task, StateOfRayTask(parts[2]), std::string(parts[3])});
  }
  return reports;
}

}  // namespace reveza::jobs
