#include "runner/definition/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "runner/definition/template.h"
#include "runner/text_file.h"

namespace reveza::runner {
namespace {

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number: 12, -3, 0.25. Its digits without the point, and how many are behind it.
struct Decimal {
  std::int64_t digits = 0;
  unsigned places = 0;
  bool negative = false;
  std::size_t padded = 0;  // the width, when it begins with zeros: 007
};

std::optional<Decimal> ParseDecimal(std::string_view text) {
  Decimal number;
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = point == text.npos ? "" : text.substr(point + 1);
  if (whole.empty() || (point != text.npos && part.empty())) return std::nullopt;
  if (whole.size() + part.size() > 15) return std::nullopt;
  for (const char c : std::string(whole) + std::string(part)) {
    if (!IsDigit(c)) return std::nullopt;
    number.digits = number.digits * 10 + (c - '0');
  }
  number.places = static_cast<unsigned>(part.size());
  if (whole.size() > 1 && whole.front() == '0') number.padded = whole.size();
  if (number.negative) number.digits = -number.digits;
  return number;
}

// In units of 10^-places. Nothing: too large.
std::optional<std::int64_t> Scaled(const Decimal& number, unsigned places) {
  std::int64_t digits = number.digits;
  for (unsigned i = number.places; i < places; ++i) {
    if (__builtin_mul_overflow(digits, std::int64_t{10}, &digits)) return std::nullopt;
  }
  return digits;
}

std::string Text(std::int64_t scaled, unsigned places, std::size_t padded) {
  const bool negative = scaled < 0;
  std::string digits = std::to_string(negative ? -scaled : scaled);
  const std::size_t least = std::max<std::size_t>(padded, 1) + places;
  if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, 1, '.');
  return negative ? "-" + digits : digits;
}

struct Range {
  Decimal first, last, step;
};

// FIRST..LAST or FIRST..LAST..STEP; nothing: something else, such as a path.
std::optional<Range> ParseRange(std::string_view word) {
  const std::size_t dots = word.find("..");
  if (dots == word.npos) return std::nullopt;
  std::string_view last = word.substr(dots + 2);
  std::string_view step = "1";
  if (const std::size_t more = last.find(".."); more != last.npos) {
    step = last.substr(more + 2);
    last = last.substr(0, more);
  }
  const auto a = ParseDecimal(word.substr(0, dots));
  const auto b = ParseDecimal(last);
  const auto c = ParseDecimal(step);
  if (!a || !b || !c) return std::nullopt;
  return Range{*a, *b, *c};
}

Result<std::vector<std::string>> NumbersOf(const Range& range, std::string_view word) {
  const unsigned places = std::max({range.first.places, range.last.places, range.step.places});
  const auto first = Scaled(range.first, places);
  const auto last = Scaled(range.last, places);
  const auto step_size = Scaled(range.step, places);
  if (!first || !last || !step_size)
    return Wrong(fmt::format("'{}': the numbers are too large", word));
  std::int64_t step = *step_size;
  if (step == 0) {
    return Wrong(
        fmt::format("'{}' never arrives; the step behind the second .. must not be 0", word));
  }
  const bool down = *last < *first;
  if (step < 0 && !down && *last != *first) {
    return Wrong(
        fmt::format("'{}' never arrives; write the smaller number last, or a step above 0", word));
  }
  if (down && step > 0) step = -step;
  std::int64_t span = 0;
  if (__builtin_sub_overflow(*last, *first, &span)) {
    return Wrong(fmt::format("'{}': the numbers are too far apart", word));
  }
  const std::int64_t steps = span / step;
  if (steps >= static_cast<std::int64_t>(kMostSteps)) {
    return Wrong(
        fmt::format("'{}' has {} values; a job has at most {} steps", word, steps + 1, kMostSteps));
  }
  const std::size_t padded = std::max(range.first.padded, range.last.padded);
  std::vector<std::string> values;
  values.reserve(static_cast<std::size_t>(steps) + 1);
  for (std::int64_t i = 0; i <= steps; ++i)
    values.push_back(Text(*first + i * step, places, padded));
  return values;
}

// Lines without their ends; empty ones are left out.
Result<std::vector<std::string>> LinesOf(std::string_view text, std::string_view name) {
  std::vector<std::string> lines;
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    const auto line = std::ranges::count(text.substr(0, zero), '\n') + 1;
    return Wrong(fmt::format("{}:{}: a zero byte cannot be part of a command", name, line));
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
    if (lines.size() > kMostSteps) {
      return Wrong(fmt::format("{} has more than {} lines; a job has at most so many steps", name,
                               kMostSteps));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Status CheckName(std::string_view name, std::string_view separator) {
  auto named = CheckParameterName(name);
  if (named || IsBuiltIn(name)) return named;
  return Wrong(fmt::format("'{1}' behind {0} is no name of a parameter; write {0} NAME {1} ...",
                           separator, name));
}

bool IsSeparator(std::string_view word) { return word == ":::" || word == ":::+"; }

}  // namespace

Result<std::vector<std::string>> ValuesOf(std::string_view word,
                                          const std::filesystem::path& folder) {
  if (word.starts_with("@@")) return std::vector<std::string>{std::string(word.substr(1))};
  if (word.starts_with('@') && word.size() > 1) {
    const auto path = folder / word.substr(1);
    const auto text = ReadTextFile(path);
    if (!text) {
      return Fail(text.error().code, fmt::format("{} (a value that begins with @ is written @@)",
                                                 text.error().message));
    }
    auto lines = LinesOf(*text, path.string());
    if (lines && lines->empty()) return Wrong(fmt::format("{} has no lines", path.string()));
    return lines;
  }
  if (const auto range = ParseRange(word)) return NumbersOf(*range, word);
  return std::vector<std::string>{std::string(word)};
}

Status Link(Axis& axis, Column column) {
  if (!axis.empty() && axis.front().values.size() != column.values.size()) {
    return Wrong(fmt::format(
        "'{}' has {} values and '{}', which it is linked with, has {}; give both as many",
        column.name, column.values.size(), axis.front().name, axis.front().values.size()));
  }
  axis.push_back(std::move(column));
  return {};
}

Result<std::vector<Axis>> ParseAxes(std::span<const std::string> words,
                                    const std::filesystem::path& folder) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < words.size();) {
    const std::string& separator = words[i];
    if (separator.starts_with("::::")) {
      return Wrong(fmt::format("'{}' is not known; write ::: NAME @FILE for the lines of a file",
                               separator));
    }
    if (!IsSeparator(separator))
      return Wrong(fmt::format("'{}' where ::: NAME VALUES should be", separator));
    const bool linked = separator == ":::+";
    if (linked && axes.empty()) {
      return Wrong(
          "':::+' links with the parameter before it, but there is none; write ::: for the first");
    }
    ++i;
    if (i == words.size() || IsSeparator(words[i])) {
      return Wrong(fmt::format("'{0}' without a parameter; write {0} NAME VALUES...", separator));
    }
    if (auto named = CheckName(words[i], separator); !named) return std::unexpected(named.error());
    Column column{.name = words[i], .values = {}};
    for (++i; i < words.size() && !words[i].starts_with(":::"); ++i) {
      auto values = ValuesOf(words[i], folder);
      if (!values) return Wrong(fmt::format("{}: {}", column.name, values.error().message));
      column.values.insert(column.values.end(), std::make_move_iterator(values->begin()),
                           std::make_move_iterator(values->end()));
    }
    if (column.values.empty()) {
      return Wrong(
          fmt::format("'{0}' has no values; write {1} {0} VALUES..., such as {1} {0} 1..10",
                      column.name, separator));
    }
    if (!linked) axes.emplace_back();
    if (auto added = Link(axes.back(), std::move(column)); !added)
      return std::unexpected(added.error());
  }
  return axes;
}

Result<ParameterRows> Grid(std::span<const Axis> axes) {
  std::size_t rows = 1;
  std::vector<const Column*> columns;
  for (const Axis& axis : axes) {
    if (axis.empty()) continue;
    const std::size_t length = axis.front().values.size();
    if (length != 0 && rows > kMostSteps / length) {
      return Wrong(
          fmt::format("the grid has more than {} steps; split it into several jobs", kMostSteps));
    }
    rows *= length;
    for (const Column& column : axis) {
      const auto same = [&](const Column* other) { return other->name == column.name; };
      if (std::ranges::any_of(columns, same)) {
        return Wrong(fmt::format("parameter '{}' is named twice; give one of them another name",
                                 column.name));
      }
      columns.push_back(&column);
    }
  }
  ParameterRows result(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    result[row].reserve(columns.size());
    std::size_t block = rows;  // how many rows one value of this axis lasts for
    for (const Axis& axis : axes) {
      if (axis.empty()) continue;
      const std::size_t length = axis.front().values.size();
      block /= length;
      const std::size_t index = row / block % length;
      for (const Column& column : axis) result[row].push_back({column.name, column.values[index]});
    }
  }
  return result;
}

Result<ParameterRows> ParseLines(std::string_view text, std::string_view name) {
  auto lines = LinesOf(text, name);
  if (!lines) return std::unexpected(lines.error());
  ParameterRows rows(lines->size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].reserve(1);
    rows[i].push_back({"line", std::move((*lines)[i])});
  }
  return rows;
}

}  // namespace reveza::runner
