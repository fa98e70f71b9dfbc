#include "reveza/gpu/daemon/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <vector>

#include "common/base/units.h"

namespace reveza::daemon {
namespace {

using scheduler::JobState;
using scheduler::WaitReason;

bool IsInterpreter(const std::string& program) {
  return program.starts_with("python") || program == "bash" || program == "sh" ||
         program == "perl" || program == "ruby" || program == "julia" || program == "node";
}

std::string LastPart(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string TurnText(const WaitContext& context) {
  if (context.blocker_name.empty()) return "waiting for its turn";
  if (context.blocker != nullptr && context.blocker->slice_ends > context.now) {
    return fmt::format("waiting for its turn: {} has the GPU for {} more", context.blocker_name,
                       FormatDuration(context.blocker->slice_ends - context.now));
  }
  return fmt::format("waiting for its turn: {} has the GPU", context.blocker_name);
}

std::string MemoryText(const WaitContext& context) {
  const std::string holder = context.blocker_name.empty()
                                 ? "non-swappable memory of other programs"
                                 : fmt::format("non-swappable memory of {}", context.blocker_name);
  return fmt::format("waiting for GPU memory: needs {} of {}, but {} is in the way",
                     FormatBytes(context.need), FormatBytes(context.budget), holder);
}

}  // namespace

std::string ProgramName(const std::string& command) {
  std::istringstream words(command);
  std::string word;
  if (!(words >> word)) return "unnamed";
  std::string program = LastPart(word);
  if (!IsInterpreter(program)) return program;
  while (words >> word) {
    if (word == "-m" && words >> word) return word;
    if (word == "-c") break;
    if (!word.starts_with('-')) return LastPart(word);
  }
  return program;
}

Time JobEntry::WaitPercentile(double share) const {
  if (waits.empty()) return Time(0);
  std::vector<Time> sorted(waits.begin(), waits.end());
  const auto last = static_cast<double>(sorted.size() - 1);
  const auto position = sorted.begin() + static_cast<std::ptrdiff_t>(std::ceil(share * last));
  std::ranges::nth_element(sorted, position);
  return *position;
}

void ApplyPolicy(const wire::Policy& message, scheduler::Policy& policy) {
  if ((message.fields & wire::kPolicyWeight) != 0) {
    policy.weight = std::clamp(static_cast<double>(message.weight) / wire::kWeightUnit,
                               scheduler::Policy::kMinWeight, scheduler::Policy::kMaxWeight);
  }
  if ((message.fields & wire::kPolicyPriority) != 0) {
    policy.priority = static_cast<scheduler::Priority>(message.priority);
  }
  if ((message.fields & wire::kPolicyInteractive) != 0) policy.interactive = message.interactive;
  if ((message.fields & wire::kPolicyPaused) != 0) policy.paused = message.paused;
  if ((message.fields & wire::kPolicyMemory) != 0) {
    policy.request = message.request;
    policy.limit = message.limit == 0 ? scheduler::Policy{}.limit : message.limit;
  }
}

wire::Policy PolicyMessage(const scheduler::Policy& policy) {
  wire::Policy message{};
  message.fields = wire::kPolicyWeight | wire::kPolicyPriority | wire::kPolicyInteractive |
                   wire::kPolicyMemory | wire::kPolicyPaused;
  message.weight = static_cast<std::uint32_t>(std::lround(policy.weight * wire::kWeightUnit));
  message.priority = static_cast<std::uint32_t>(policy.priority);
  message.interactive = policy.interactive ? 1 : 0;
  message.paused = policy.paused ? 1 : 0;
  message.request = policy.request;
  message.limit = policy.limit == scheduler::Policy{}.limit ? 0 : policy.limit;
  return message;
}

std::string WaitReasonText(const scheduler::JobView& job, const WaitContext& context) {
  switch (job.why) {
    case WaitReason::kNone:
      return job.state == JobState::kEntering ? "its memory is being swapped in" : "";
    case WaitReason::kTurn:
      return TurnText(context);
    case WaitReason::kContext:
      return context.blocker_name.empty()
                 ? "waiting to create a GPU context: another program is creating one"
                 : fmt::format("waiting to create a GPU context: {} is creating one",
                               context.blocker_name);
    case WaitReason::kGpuMemory:
      return MemoryText(context);
    case WaitReason::kHostMemory:
      return fmt::format(
          "waiting for host memory: {} of {} left for swapping; increase --host-budget",
          FormatBytes(context.host_free), FormatBytes(context.host_budget));
    case WaitReason::kUnpreemptible:
      return fmt::format("waiting for {}, whose GPU work does not drain; will be retried",
                         context.blocker_name.empty() ? "a program" : context.blocker_name);
    case WaitReason::kQueue:
      return fmt::format(
          "queued: {} programs take turns already, the limit for a maximum wait of {}",
          context.rotating, FormatDuration(context.max_wait));
    case WaitReason::kUnresponsive:
      return "a process of the program does not answer the daemon";
    case WaitReason::kPaused:
      return "paused, until `reveza resume`";
  }
  return "";
}

}  // namespace reveza::daemon
