#include "reveza/jobs/definition/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "common/base/parse_number.h"

namespace reveza::jobs {
namespace {

constexpr std::string_view kPrefix = "shard-";
constexpr std::string_view kOf = "-of-";

// Splits a text into two numbers; nullopt if it does not consist of them.
std::optional<Shard> ParseParts(std::string_view text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == text.npos) return std::nullopt;
  const auto index = ParseNumber<std::uint32_t>(text.substr(0, at));
  const auto count = ParseNumber<std::uint32_t>(text.substr(at + separator.size()));
  if (!index || !count) return std::nullopt;
  return Shard{*index, *count};
}

Status CheckRange(const Shard& shard, std::string_view text) {
  if (shard.index >= 1 && shard.index <= shard.count) return {};
  if (shard.count == 0) return InvalidArgument("'{}': there must be at least one shard", text);
  return InvalidArgument("'{}': shard {} of {} does not exist; expected 1 to {}", text, shard.index,
                         shard.count, shard.count);
}

// Returns the first step of the group of steps that depend on each other, for each step.
std::vector<std::uint32_t> FirstOfGroups(const Job& job) {
  std::vector<std::uint32_t> parent(job.steps.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::uint32_t step) {
    while (parent[step] != step) step = parent[step] = parent[parent[step]];
    return step;
  };
  for (std::uint32_t step = 0; step < job.steps.size(); ++step) {
    for (const std::uint32_t before : job.steps[step].after) {
      const auto a = root(step);
      const auto b = root(before);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  for (std::uint32_t step = 0; step < job.steps.size(); ++step) parent[step] = root(step);
  return parent;
}

}  // namespace

Result<Shard> ParseShard(std::string_view text) {
  const auto shard = ParseParts(text, "/");
  if (!shard) return InvalidArgument("'{}': expected INDEX/COUNT, such as 3/8", text);
  RETURN_IF_ERROR(CheckRange(*shard, text));
  return *shard;
}

std::string NameOf(const Shard& shard) {
  return fmt::format("{}{}{}{}", kPrefix, shard.index, kOf, shard.count);
}

Result<Shard> ParseShardName(std::string_view name) {
  const auto shard =
      name.starts_with(kPrefix) ? ParseParts(name.substr(kPrefix.size()), kOf) : std::nullopt;
  if (!shard || NameOf(*shard) != name) {
    return InvalidArgument("'{}' is not the name of a shard such as shard-3-of-8", name);
  }
  RETURN_IF_ERROR(CheckRange(*shard, name));
  return *shard;
}

void SelectShard(const Shard& shard, Job& job, std::vector<Identity>& identities) {
  const auto first = FirstOfGroups(job);
  const auto is_ours = [&](std::uint32_t step) {
    // The identity is a hash.
    std::uint64_t hash = 0;
    std::memcpy(&hash, identities[first[step]].data(), sizeof(hash));
    return hash % shard.count == shard.index - 1;
  };
  std::vector<Step> steps;
  std::vector<Identity> kept;
  std::vector<std::uint32_t> index(job.steps.size());
  for (std::uint32_t step = 0; step < job.steps.size(); ++step) {
    if (!is_ours(step)) continue;
    index[step] = static_cast<std::uint32_t>(steps.size());
    kept.push_back(identities[step]);
    Step& ours = steps.emplace_back(std::move(job.steps[step]));
    if (ours.number == 0) ours.number = step + 1;
  }
  for (Step& step : steps) {
    for (std::uint32_t& before : step.after) before = index[before];
  }
  job.steps = std::move(steps);
  identities = std::move(kept);
}

}  // namespace reveza::jobs
