#include "reveza/cli/reveza/policy_options.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "common/base/units.h"
#include "common/cli/command_line.h"
#include "reveza/gpu/scheduler/policy_text.h"

namespace reveza::cli {
namespace {

// Prefixes the message of an error with the option.
template <typename T>
Result<T> Named(const char* option, Result<T> value) {
  if (value) return value;
  return Fail(value.error().code, "{}: {}", option, value.error().message);
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
    ASSIGN_OR_RETURN(const double weight,
                     Named("--weight", scheduler::ParseWeight(options.weight)));
    policy.weight = static_cast<std::uint32_t>(std::lround(weight * wire::kWeightUnit));
    policy.fields |= wire::kPolicyWeight;
  }
  if (!options.priority.empty()) {
    ASSIGN_OR_RETURN(const auto priority,
                     Named("--priority", scheduler::ParsePriority(options.priority)));
    policy.priority = static_cast<std::uint32_t>(priority);
    policy.fields |= wire::kPolicyPriority;
  }
  if (options.interactive) {
    policy.interactive = *options.interactive ? 1 : 0;
    policy.fields |= wire::kPolicyInteractive;
  }
  if (!options.memory.empty()) {
    scheduler::Policy memory;
    RETURN_IF_ERROR(Named("--memory", scheduler::ParseMemory(options.memory, memory)));
    const bool limited = memory.limit != scheduler::Policy{}.limit;
    for (const Bytes bytes : {memory.request, limited ? memory.limit : 0}) {
      if (bytes > wire::kMaxBytes)
        return InvalidArgument("--memory: {} is too much", options.memory);
    }
    policy.request = memory.request;
    policy.limit = limited ? memory.limit : 0;
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
