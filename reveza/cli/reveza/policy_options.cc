#include "reveza/cli/reveza/policy_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/units.h"
#include "common/cli/command_line.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::cli {
namespace {

// By number of the priority.
constexpr std::array<std::string_view, wire::kMaxPriority + 1> kPriorities = {"low", "normal",
                                                                              "high"};

Result<std::uint32_t> ParseWeight(std::string_view text) {
  using scheduler::Policy;
  const auto weight = ParseNumber<double>(text);
  if (!weight || *weight < Policy::kMinWeight || *weight > Policy::kMaxWeight) {
    return InvalidArgument("--weight: '{}' is not a number from {} to {}", text, Policy::kMinWeight,
                           Policy::kMaxWeight);
  }
  return static_cast<std::uint32_t>(std::lround(*weight * wire::kWeightUnit));
}

Result<std::uint32_t> ParsePriorityName(std::string_view text) {
  const auto found = std::ranges::find(kPriorities, text);
  if (found != kPriorities.end()) return static_cast<std::uint32_t>(found - kPriorities.begin());
  return InvalidArgument("--priority: unknown priority '{}'{}; use low, normal or high", text,
                         DidYouMean(text, kPriorities));
}

// An empty text is 0.
Result<Bytes> ParseMemory(std::string_view text) {
  if (text.empty()) return Bytes{0};
  auto bytes = ParseBytes(text);
  if (!bytes) return InvalidArgument("--memory: {}", bytes.error().message);
  if (*bytes > wire::kMaxBytes) return InvalidArgument("--memory: {} is too much", text);
  return bytes;
}

}  // namespace

void AddPolicyOptions(CLI::App& app, PolicyOptions& options) {
  AddOption(app, "--weight", options.weight, "N",
            "share of GPU time beside programs of weight 1, e.g. 2 for twice as much (default: 1)");
  AddOption(
      app, "--priority", options.priority, "low|normal|high",
      "a higher one runs first, a lower one when it has waited for max_wait (default: normal)");
  AddOption(app, "--memory", options.memory, "REQUEST[:LIMIT]",
            "GPU memory that is always there for it, and the most that it may have;\n"
            "e.g. 8GiB:12GiB, or :12GiB for a limit only (default: none, all)");
  app.add_flag_callback(
      "--interactive", [&options] { options.interactive = true; },
      "it sleeps most of the time (a notebook, an inference server): runs at once when it wakes\n"
      "up, for a tenth of the time, and is moved out last");
  app.add_flag_callback(
      "--no-interactive", [&options] { options.interactive = false; }, "revokes --interactive");
}

Result<wire::Policy> ParsePolicy(const PolicyOptions& options) {
  wire::Policy policy{};
  if (!options.weight.empty()) {
    ASSIGN_OR_RETURN(policy.weight, ParseWeight(options.weight));
    policy.fields |= wire::kPolicyWeight;
  }
  if (!options.priority.empty()) {
    ASSIGN_OR_RETURN(policy.priority, ParsePriorityName(options.priority));
    policy.fields |= wire::kPolicyPriority;
  }
  if (options.interactive) {
    policy.interactive = *options.interactive ? 1 : 0;
    policy.fields |= wire::kPolicyInteractive;
  }
  if (!options.memory.empty()) {
    const std::string_view memory = options.memory;
    const std::size_t colon = memory.find(':');
    ASSIGN_OR_RETURN(policy.request, ParseMemory(memory.substr(0, colon)));
    if (colon != memory.npos) {
      ASSIGN_OR_RETURN(policy.limit, ParseMemory(memory.substr(colon + 1)));
    }
    if (policy.limit != 0 && policy.request > policy.limit) {
      return InvalidArgument("--memory: the request of {} exceeds the limit of {}",
                             FormatBytes(policy.request), FormatBytes(policy.limit));
    }
    policy.fields |= wire::kPolicyMemory;
  }
  return policy;
}

std::string FormatPolicy(const wire::Policy& policy) {
  std::string text;
  const auto add = [&](std::uint32_t field, std::string_view key, std::uint64_t value) {
    if ((policy.fields & field) == 0) return;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  };
  add(wire::kPolicyWeight, "weight", policy.weight);
  add(wire::kPolicyPriority, "priority", policy.priority);
  add(wire::kPolicyInteractive, "interactive", policy.interactive);
  add(wire::kPolicyMemory, "request", policy.request);
  add(wire::kPolicyMemory, "limit", policy.limit);
  return text;
}

}  // namespace reveza::cli
