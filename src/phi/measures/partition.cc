#include "phi/measures/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace reveza::phi {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (true) {
    const auto end = text.find(separator);
    words.push_back(Trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

Result<int> VariableOf(std::string_view word, int variables,
                       const std::vector<std::string>& names) {
  if (const auto named = std::ranges::find(names, word); named != names.end()) {
    return static_cast<int>(named - names.begin());
  }
  int number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size() && number >= 0 &&
      number < variables) {
    return number;
  }
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("partition: there is no variable '{}'; there are 0 to {}{}", word,
                          variables - 1, names.empty() ? "" : ", or their names"));
}

}  // namespace

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
      text += names[static_cast<std::size_t>(part[i])];
    }
  }
  return text;
}

Result<Partition> PartitionOf(std::vector<std::vector<int>> parts, int variables) {
  const auto wrong = [](std::string message) {
    return Fail(Error::Code::kInvalidArgument, "partition: " + std::move(message));
  };
  if (parts.size() < 2) {
    return wrong("it needs two parts at least, such as '0|1'; 'atomic' is each variable alone");
  }
  std::vector<bool> seen(static_cast<std::size_t>(std::max(variables, 0)), false);
  for (auto& part : parts) {
    if (part.empty()) return wrong("a part is empty; leave its bar away");
    std::ranges::sort(part);
    for (const int variable : part) {
      if (variable < 0 || variable >= variables) {
        return wrong(
            fmt::format("there is no variable {}; there are 0 to {}", variable, variables - 1));
      }
      if (seen[static_cast<std::size_t>(variable)]) {
        return wrong(fmt::format("variable {} is there twice", variable));
      }
      seen[static_cast<std::size_t>(variable)] = true;
    }
  }
  if (const auto missing = std::ranges::find(seen, false); missing != seen.end()) {
    return wrong(fmt::format(
        "variable {} is in no part; name each of 0 to {} once, or choose fewer with --columns",
        missing - seen.begin(), variables - 1));
  }
  std::ranges::sort(parts);
  return Partition(std::move(parts), variables);
}

Result<Partition> AtomicPartition(int variables) {
  std::vector<std::vector<int>> parts;
  for (int i = 0; i < variables; ++i) parts.push_back({i});
  return PartitionOf(std::move(parts), variables);
}

Result<Partition> Bipartition(std::uint64_t mask, int variables) {
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
  for (const std::string_view words : Split(text, '|')) {
    std::vector<int>& part = parts.emplace_back();
    if (words.empty()) continue;
    for (const std::string_view word : Split(words, ',')) {
      const auto variable = VariableOf(word, variables, names);
      if (!variable) return std::unexpected(variable.error());
      part.push_back(*variable);
    }
  }
  return PartitionOf(std::move(parts), variables);
}

}  // namespace reveza::phi
