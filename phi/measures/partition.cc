#include "phi/measures/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <utility>

#include "common/base/parse_number.h"

namespace reveza::phi {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Result<int> VariableOf(std::string_view word, int variables,
                       const std::vector<std::string>& names) {
  if (const auto named = std::ranges::find(names, word); named != names.end()) {
    return static_cast<int>(named - names.begin());
  }
  const auto number = ParseNumber<int>(word);
  if (number && *number >= 0 && *number < variables) return *number;
  return InvalidArgument("partition: no variable '{}'; use 0 to {}{}", word, variables - 1,
                         names.empty() ? "" : ", or their names");
}

}  // namespace

Result<Partition> PartitionOf(std::vector<std::vector<int>> parts, int variables,
                              const std::vector<std::string>& names) {
  // Variables without a name of their own are named by their index.
  const auto name_of = [&](std::int64_t variable) {
    const std::string index = fmt::format("{}", variable);
    const auto at = static_cast<std::size_t>(variable);
    return names.empty() || names[at] == index ? "variable " + index
                                               : fmt::format("'{}'", names[at]);
  };
  const auto wrong = [](std::string message) {
    return InvalidArgument("partition: " + std::move(message));
  };
  if (parts.size() < 2) {
    return wrong(
        "at least two parts are required, such as '0|1'; 'atomic' is one variable per part");
  }
  std::vector<bool> seen(static_cast<std::size_t>(std::max(variables, 0)), false);
  for (auto& part : parts) {
    if (part.empty()) return wrong("a part is empty; remove its bar");
    std::ranges::sort(part);
    for (const int variable : part) {
      if (variable < 0 || variable >= variables) {
        return wrong(fmt::format("no variable {}; use 0 to {}", variable, variables - 1));
      }
      if (seen[variable]) return wrong(name_of(variable) + " appears twice");
      seen[variable] = true;
    }
  }
  if (const auto missing = std::ranges::find(seen, false); missing != seen.end()) {
    return wrong(name_of(missing - seen.begin()) +
                 " is in no part; list each variable once, or select fewer");
  }
  std::ranges::sort(parts);
  return Partition(std::move(parts), variables);
}

std::string Partition::Text() const {
  std::vector<std::string> names;
  for (int i = 0; i < variables_; ++i) names.push_back(fmt::format("{}", i));
  return Text(names);
}

std::string Partition::Text(const std::vector<std::string>& names) const {
  std::string text;
  for (const auto& part : parts_) {
    if (!text.empty()) text += '|';
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (i > 0) text += ',';
      text += names[part[i]];
    }
  }
  return text;
}

Result<Partition> AtomicPartition(int variables) {
  std::vector<std::vector<int>> parts;
  for (int i = 0; i < variables; ++i) parts.push_back({i});
  return PartitionOf(std::move(parts), variables);
}

Result<Partition> MakeBipartition(std::uint64_t mask, int variables) {
  std::vector<std::vector<int>> parts(2);
  for (int i = 0; i < variables; ++i) {
    parts[((mask >> i) & 1U) != 0 ? 0 : 1].push_back(i);
  }
  return PartitionOf(std::move(parts), variables);
}

Result<Partition> ParsePartition(std::string_view text, int variables,
                                 const std::vector<std::string>& names) {
  if (Trimmed(text) == "atomic") return AtomicPartition(variables);
  std::vector<std::vector<int>> parts;
  for (const auto split : std::views::split(text, '|')) {
    std::vector<int>& part = parts.emplace_back();
    const std::string_view words = Trimmed(std::string_view(split));
    if (words.empty()) continue;
    for (const auto word : std::views::split(words, ',')) {
      ASSIGN_OR_RETURN(const auto variable,
                       VariableOf(Trimmed(std::string_view(word)), variables, names));
      part.push_back(variable);
    }
  }
  return PartitionOf(std::move(parts), variables, names);
}

}  // namespace reveza::phi
