#include "reveza/jobs/cluster/slurm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/run_program.h"
#include "common/platform/text_file.h"
#include "reveza/jobs/cluster/task_script.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;
using platform::ProgramOutput;

constexpr std::uint32_t kDefaultMaxTask = 1000;

constexpr auto kStates = std::to_array<std::pair<std::string_view, TaskState>>({
    {"PENDING", TaskState::kPending},           {"REQUEUED", TaskState::kPending},
    {"REQUEUE_HOLD", TaskState::kPending},      {"REQUEUE_FED", TaskState::kPending},
    {"SPECIAL_EXIT", TaskState::kPending},      {"RESV_DEL_HOLD", TaskState::kPending},
    {"RUNNING", TaskState::kRunning},           {"COMPLETING", TaskState::kRunning},
    {"CONFIGURING", TaskState::kRunning},       {"SIGNALING", TaskState::kRunning},
    {"STAGE_OUT", TaskState::kRunning},         {"STOPPED", TaskState::kRunning},
    {"SUSPENDED", TaskState::kRunning},         {"RESIZING", TaskState::kRunning},
    {"OUT_OF_MEMORY", TaskState::kOutOfMemory}, {"TIMEOUT", TaskState::kTimeLimit},
    {"DEADLINE", TaskState::kTimeLimit},        {"CANCELLED", TaskState::kCancelled},
    {"REVOKED", TaskState::kCancelled},         {"NODE_FAIL", TaskState::kNodeLost},
    {"BOOT_FAIL", TaskState::kNodeLost},        {"PREEMPTED", TaskState::kNodeLost},
});

// "CANCELLED by 1000" and the like are known by their first word. Others have ended by themselves:
// COMPLETED, FAILED.
TaskState StateOf(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  const auto* found =
      std::ranges::find(kStates, word, &std::pair<std::string_view, TaskState>::first);
  return found == kStates.end() ? TaskState::kEnded : found->second;
}

// Returns what a command says on standard error, without its name.
std::string ErrorOf(const ProgramOutput& output) {
  std::string text = LastLineOf(output);
  const std::size_t prefix = text.find(": error: ");
  if (prefix != text.npos) text.erase(0, prefix + 9);
  return text;
}

// Returns whether a message says that the controller could not be asked, or did not answer in time.
bool IsUnreachable(std::string_view message) {
  constexpr auto kMessages = std::to_array<std::string_view>(
      {"Unable to contact", "timed out", "Connection refused", "Zero Bytes", "temporarily",
       "ommunication", "Unable to establish", "in standby mode", "Socket", "rotocol authentication",
       "Unspecified error"});
  return std::ranges::any_of(kMessages, [&](auto text) { return message.contains(text); });
}

Result<ProgramOutput> Run(const std::vector<std::string>& words) {
  ASSIGN_OR_RETURN(auto output, platform::RunProgram(words, kCommandLimit, kMaxTaskList));
  if (output.status == 0) return output;
  const std::string message = ErrorOf(output);
  return Fail(
      IsUnreachable(output.errors) ? Error::Code::kUnavailable : Error::Code::kInvalidArgument,
      "{}: {}", words[0], message);
}

// Slurm signals all processes; the end of the runner is waited for.
constexpr const char* kSlurmBegin = R"(task=$SLURM_ARRAY_TASK_ID
trap 'kill -INT "$runner" 2>/dev/null' INT
trap : TERM
)";

Status Scancel(const std::string& array, std::vector<std::string> words) {
  words.insert(words.begin(), {"scancel", "--name=" + array, "--user=" + std::to_string(getuid())});
  const auto output = Run(words);
  if (!output) return std::unexpected(output.error());
  return {};
}

std::string Whole(Bytes bytes) { return std::to_string((bytes + kMiB - 1) / kMiB) + "M"; }

}  // namespace

Result<std::unique_ptr<Slurm>> Slurm::Find() {
  for (const char* program : {"sbatch", "squeue", "scancel"}) {
    const auto found = platform::RunProgram({program, "--version"}, kCommandLimit);
    if (found) continue;
    return Fail(Error::Code::kNotFound,
                "--on slurm: {} is not in PATH; run this where jobs of Slurm are submitted, or "
                "load its module",
                program);
  }
  std::uint32_t max_task = kDefaultMaxTask;
  if (const auto shown = Run({"scontrol", "show", "config"})) {
    for (std::string_view line : platform::Lines(shown->out)) {
      if (platform::NextWord(line) != "MaxArraySize") continue;
      platform::NextWord(line);
      const auto size = ParseNumber<std::uint32_t>(platform::NextWord(line));
      if (size && *size > 1) max_task = std::min(*size - 1, kDefaultMaxTask);
    }
  }
  return std::unique_ptr<Slurm>(new Slurm(max_task));
}

std::vector<std::string> SubmitCommand(const ArrayRequest& array) {
  const TaskResources& each = array.resources;
  // Reveza itself starts again what a lost node had, once nothing of it is alive.
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--no-requeue",
                                    "--job-name=" + array.place.name,
                                    fmt::format("--array=1-{}", array.tasks),
                                    "--ntasks=1",
                                    fmt::format("--cpus-per-task={}", each.cpus),
                                    "--open-mode=append",
                                    "--output=" + (array.place.folder / "log-%a.txt").string()};
  if (each.memory) words.push_back("--mem=" + Whole(*each.memory));
  if (each.gpu) words.emplace_back("--gres=gpu:1");
  if (each.time) words.push_back(fmt::format("--time={}", each.time->count()));
  words.push_back(array.place.folder / kRunScript);
  return words;
}

ArrayScript Slurm::Script(const fs::path& reveza, const fs::path& array) const {
  return TaskScript({.reveza = reveza, .array = array, .begin = kSlurmBegin});
}

Status Slurm::Submit(const ArrayRequest& array) const {
  const auto output = Run(SubmitCommand(array));
  if (!output) return std::unexpected(output.error());
  return {};
}

Result<std::vector<TaskReport>> Slurm::Tasks(std::span<const ArrayPlace> /*arrays*/) const {
  const auto output = Run(
      {"squeue", "-h", "-r", "-t", "all", "-u", std::to_string(getuid()), "-o", "%j|%K|%T|%m|%r"});
  if (output) return ParseQueue(output->out);
  return Fail(Error::Code::kUnavailable, output.error().message);
}

std::vector<TaskReport> Slurm::PastTasks(const ArrayPlace& array) const {
  const auto output = Run({"sacct", "-n", "-P", "-X", "-S", "now-30days", "--name=" + array.name,
                           "-o", "JobName,JobID,State"});
  return output ? ParseAccounting(output->out) : std::vector<TaskReport>{};
}

Status Slurm::Drain(const ArrayPlace& array) const {
  RETURN_IF_ERROR(Scancel(array.name, {"--state=PENDING"}));
  // To the scripts, which pass it on to their runners.
  return Scancel(array.name, {"--state=RUNNING", "--batch", "--signal=INT"});
}

Status Slurm::Cancel(const ArrayPlace& array) const { return Scancel(array.name, {}); }

// Without control groups the state of such a task is FAILED.
bool Slurm::SaysOutOfMemory(const fs::path& log) const {
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("slurmstepd")) continue;
    if (line.contains("oom-kill event") || line.contains("oom_kill event") ||
        line.contains("xceeded job memory limit")) {
      return true;
    }
  }
  return false;
}

std::optional<Bytes> ParseMemory(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || number <= 0) return std::nullopt;
  constexpr std::string_view kUnits = "KMGTP";
  const std::size_t unit = rest == end ? 1 : kUnits.find(*rest);  // in MiB without one
  if (unit == kUnits.npos) return std::nullopt;
  for (std::size_t i = 0; i <= unit; ++i) number *= 1024;
  return static_cast<Bytes>(number);
}

std::vector<TaskReport> ParseQueue(std::string_view text) {
  std::vector<TaskReport> reports;
  for (const std::string_view line : platform::Lines(text)) {
    const auto parts = SplitFields(line, '|');
    if (parts.size() < 5) continue;
    const auto task = ParseNumber<std::uint32_t>(parts[1]);
    if (!task) continue;  // not of an array
    reports.push_back({std::string(parts[0]), *task, StateOf(parts[2]), std::string(parts[4]),
                       ParseMemory(parts[3])});
  }
  return reports;
}

std::vector<TaskReport> ParseAccounting(std::string_view text) {
  std::vector<TaskReport> reports;
  for (const std::string_view line : platform::Lines(text)) {
    const auto parts = SplitFields(line, '|');
    if (parts.size() < 3) continue;
    const auto task = ParseNumber<std::uint32_t>(parts[1].substr(parts[1].find('_') + 1));
    if (!task || !parts[1].contains('_')) continue;
    reports.push_back({std::string(parts[0]), *task, StateOf(parts[2])});
  }
  return reports;
}

}  // namespace reveza::jobs
