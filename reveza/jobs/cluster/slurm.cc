#include "reveza/jobs/cluster/slurm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/run_program.h"
#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

using platform::ProgramOutput;

// Slurm's commands try for so long to reach a controller before they give up.
constexpr std::chrono::seconds kLimit{60};
// A line for each task of a user.
constexpr std::size_t kMaxOutput = 256 << 20;
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

std::vector<std::string_view> Split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = line.find(separator);
    parts.push_back(line.substr(0, at));
    if (at == line.npos) return parts;
    line.remove_prefix(at + 1);
  }
}

// Returns the last line that a command wrote to standard error, without its name.
std::string ErrorOf(const ProgramOutput& output) {
  std::string text = output.errors.empty() ? output.out : output.errors;
  while (text.ends_with('\n')) text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  const std::size_t prefix = text.find(": error: ");
  if (prefix != text.npos) text.erase(0, prefix + 9);
  return text.empty() ? fmt::format("exit status {}", output.status) : text;
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
  ASSIGN_OR_RETURN(auto output, platform::RunProgram(words, kLimit, kMaxOutput));
  if (output.status == 0) return output;
  const std::string message = ErrorOf(output);
  return Fail(
      IsUnreachable(output.errors) ? Error::Code::kUnavailable : Error::Code::kInvalidArgument,
      "{}: {}", words[0], message);
}

std::string Whole(Bytes bytes) { return std::to_string((bytes + kMiB - 1) / kMiB) + "M"; }

}  // namespace

Result<Slurm> Slurm::Find() {
  for (const char* program : {"sbatch", "squeue", "scancel"}) {
    const auto found = platform::RunProgram({program, "--version"}, kLimit);
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
  return Slurm(max_task);
}

std::vector<std::string> SubmitCommand(const ArrayRequest& array) {
  const TaskResources& each = array.resources;
  // Reveza itself starts again what a lost node had, once nothing of it is alive.
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--no-requeue",
                                    "--job-name=" + array.name,
                                    fmt::format("--array=1-{}", array.tasks),
                                    "--ntasks=1",
                                    fmt::format("--cpus-per-task={}", each.cpus),
                                    "--open-mode=append",
                                    "--output=" + array.log.string()};
  if (each.memory) words.push_back("--mem=" + Whole(*each.memory));
  if (each.gpu) words.emplace_back("--gres=gpu:1");
  if (each.time) words.push_back(fmt::format("--time={}", each.time->count()));
  words.push_back(array.script.string());
  return words;
}

Status Slurm::Submit(const ArrayRequest& array) const {
  const auto output = Run(SubmitCommand(array));
  if (!output) return std::unexpected(output.error());
  return {};
}

Result<std::vector<TaskReport>> Slurm::Tasks() const {
  const auto output = Run(
      {"squeue", "-h", "-r", "-t", "all", "-u", std::to_string(getuid()), "-o", "%j|%K|%T|%m|%r"});
  if (output) return ParseQueue(output->out);
  return Fail(Error::Code::kUnavailable, output.error().message);
}

std::vector<TaskReport> Slurm::AccountedTasks(const std::string& array) const {
  const auto output = Run({"sacct", "-n", "-P", "-X", "-S", "now-30days", "--name=" + array, "-o",
                           "JobName,JobID,State"});
  return output ? ParseAccounting(output->out) : std::vector<TaskReport>{};
}

Status Slurm::CancelTasks(const std::string& array, Cancel what) const {
  std::vector<std::string> words = {"scancel", "--name=" + array,
                                    "--user=" + std::to_string(getuid())};
  if (what == Cancel::kPending) words.emplace_back("--state=PENDING");
  if (what == Cancel::kInterrupt) {
    words.insert(words.end(), {"--state=RUNNING", "--batch", "--signal=INT"});
  }
  const auto output = Run(words);
  if (!output) return std::unexpected(output.error());
  return {};
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
    const auto parts = Split(line, '|');
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
    const auto parts = Split(line, '|');
    if (parts.size() < 3) continue;
    const auto task = ParseNumber<std::uint32_t>(parts[1].substr(parts[1].find('_') + 1));
    if (!task || !parts[1].contains('_')) continue;
    reports.push_back({std::string(parts[0]), *task, StateOf(parts[2])});
  }
  return reports;
}

}  // namespace reveza::jobs
