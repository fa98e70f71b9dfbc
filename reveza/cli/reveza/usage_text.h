// The output of `reveza usage`, and its times. Pure functions, except for users' names.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/gpu/usage/store.h"

namespace reveza::cli {

// Parses "today", "yesterday", the last "monday" before now, "2026-11-20", "2026-11-20T14:30", in
// local time, or a duration before now ("12h", "30 days"). kInvalidArgument names these.
Result<std::chrono::sys_seconds> ParseSince(std::string_view text, std::chrono::sys_seconds now);

// One line of the output.
struct UsageRow {
  usage::JobUsage usage;
  std::size_t jobs = 1;
};

// Sums the rows of each user, in the order of their GPU time.
std::vector<UsageRow> SumByUser(std::span<const usage::JobUsage> jobs);

// At most 96 columns wide, unless names are long.
std::string UsageText(std::span<const UsageRow> rows, bool by_user);
nlohmann::ordered_json UsageJson(std::span<const UsageRow> rows, bool by_user);
// RFC 4180, with a header.
std::string UsageCsv(std::span<const UsageRow> rows, bool by_user);

}  // namespace reveza::cli
