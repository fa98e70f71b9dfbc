// The options that say what a job is entitled to, of `reveza run` and `reveza set`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::cli {

struct PolicyOptions {
  std::string weight, priority, memory;
  std::optional<bool> interactive;
};

// Adds --weight, --priority, --memory and --interactive.
void AddPolicyOptions(CLI::App& app, PolicyOptions& options);

// Validates the options; kInvalidArgument names the valid values. Options that are not given set no
// field.
Result<wire::Policy> ParsePolicy(const PolicyOptions& options);

// Returns the value of REVEZA_POLICY (reveza/gpu/interpose/policy.h).
std::string FormatPolicy(const wire::Policy& policy);

}  // namespace reveza::cli
