#include "reveza/jobs/definition/parameters.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "common/base/read_file.h"
#include "common/settings/document.h"
#include "reveza/jobs/definition/sobol.h"
#include "reveza/jobs/definition/template.h"

namespace reveza::jobs {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number such as 12, -3 or 0.25: its digits as an integer, and the number of decimals.
struct Decimal {
  std::int64_t digits = 0;
  unsigned places = 0;
  bool negative = false;
  std::size_t padded = 0;  // width of the integer part when zero-padded (007)
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

// Returns the number in units of 10^-places; nullopt on overflow.
std::optional<std::int64_t> Scaled(const Decimal& number, unsigned places) {
  std::int64_t digits = number.digits;
  for (unsigned i = number.places; i < places; ++i) {
    if (__builtin_mul_overflow(digits, std::int64_t{10}, &digits)) return std::nullopt;
  }
  return digits;
}

std::string FormatScaled(std::int64_t scaled, unsigned places, std::size_t padded) {
  const bool negative = scaled < 0;
  std::string digits = std::to_string(negative ? -scaled : scaled);
  const std::size_t min_size = std::max<std::size_t>(padded, 1) + places;
  if (digits.size() < min_size) digits.insert(0, min_size - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, 1, '.');
  return negative ? "-" + digits : digits;
}

struct Range {
  Decimal first, last, step;
};

// Parses FIRST..LAST or FIRST..LAST..STEP; nullopt for anything else, such as a path.
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

Result<std::vector<std::string>> ExpandRange(const Range& range, std::string_view word) {
  const unsigned places = std::max({range.first.places, range.last.places, range.step.places});
  const auto first = Scaled(range.first, places);
  const auto last = Scaled(range.last, places);
  const auto step_size = Scaled(range.step, places);
  if (!first || !last || !step_size) return InvalidArgument("range '{}': numbers too large", word);
  std::int64_t step = *step_size;
  if (step == 0) {
    return InvalidArgument("range '{}': the step must not be 0", word);
  }
  const bool down = *last < *first;
  if (step < 0 && !down && *last != *first) {
    return InvalidArgument("range '{}' is empty; swap its ends, or use a step above 0", word);
  }
  if (down && step > 0) step = -step;
  std::int64_t span = 0;
  if (__builtin_sub_overflow(*last, *first, &span)) {
    return InvalidArgument("range '{}': ends too far apart", word);
  }
  const std::int64_t steps = span / step;
  if (steps >= static_cast<std::int64_t>(kMaxSteps)) {
    return InvalidArgument("range '{}' has {} values; a job has at most {} steps", word, steps + 1,
                           kMaxSteps);
  }
  const std::size_t padded = std::max(range.first.padded, range.last.padded);
  std::vector<std::string> values;
  values.reserve(static_cast<std::size_t>(steps) + 1);
  for (std::int64_t i = 0; i <= steps; ++i)
    values.push_back(FormatScaled(*first + i * step, places, padded));
  return values;
}

// Returns the non-empty lines, without line ends.
Result<std::vector<std::string>> SplitLines(std::string_view text, std::string_view name) {
  std::vector<std::string> lines;
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    const auto line = std::ranges::count(text.substr(0, zero), '\n') + 1;
    return InvalidArgument("{}:{}: {}", name, line, kNulByteError);
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
    if (lines.size() > kMaxSteps) {
      return InvalidArgument("{} has more than {} lines, the maximum number of steps", name,
                             kMaxSteps);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Status CheckName(std::string_view name, std::string_view separator) {
  auto named = CheckParameterName(name);
  if (named || IsBuiltIn(name)) return named;
  return InvalidArgument("'{1}' after {0} is not a parameter name; write {0} NAME {1} ...",
                         separator, name);
}

bool IsSeparator(std::string_view word) { return word == ":::" || word == ":::+"; }

// Returns the blank-separated words of a text.
std::vector<std::string> SplitAtBlanks(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

Result<std::vector<std::string>> ExpandWords(std::span<const std::string> words,
                                             const std::filesystem::path& folder,
                                             std::size_t& sampled) {
  ASSIGN_OR_RETURN(const auto range, ParseSobol(words));
  if (range) return SobolValues(*range, sampled++);
  std::vector<std::string> all;
  for (const std::string& word : words) {
    ASSIGN_OR_RETURN(auto values, ExpandValues(word, folder));
    all.insert(all.end(), std::make_move_iterator(values.begin()),
               std::make_move_iterator(values.end()));
  }
  return all;
}

Result<std::vector<std::string>> ExpandText(std::string_view text,
                                            const std::filesystem::path& folder,
                                            std::size_t& sampled) {
  ASSIGN_OR_RETURN(const auto range, ParseSobol(SplitAtBlanks(text)));
  return range ? SobolValues(*range, sampled++) : ExpandValues(text, folder);
}

Result<std::vector<std::string>> ExpandValues(std::string_view word,
                                              const std::filesystem::path& folder) {
  if (word.starts_with("@@")) return std::vector<std::string>{std::string(word.substr(1))};
  if (word.starts_with('@') && word.size() > 1) {
    const auto path = folder / word.substr(1);
    const auto text = ReadFile(path, kMaxUserFile);
    if (!text) {
      return Fail(text.error().code, "{} (write @@ for a value that begins with @)",
                  text.error().message);
    }
    auto lines = SplitLines(*text, path.string());
    if (lines && lines->empty()) return InvalidArgument("{} is empty", path.string());
    return lines;
  }
  if (const auto range = ParseRange(word)) return ExpandRange(*range, word);
  return std::vector<std::string>{std::string(word)};
}

Status Link(Axis& axis, Column column) {
  if (!axis.empty() && axis.front().values.size() != column.values.size()) {
    return InvalidArgument("linked parameters need equally many values: '{}' has {}, '{}' has {}",
                           column.name, column.values.size(), axis.front().name,
                           axis.front().values.size());
  }
  axis.push_back(std::move(column));
  return {};
}

Result<std::vector<Axis>> ParseAxes(std::span<const std::string> words,
                                    const std::filesystem::path& folder) {
  std::vector<Axis> axes;
  std::size_t sampled = 0;
  for (std::size_t i = 0; i < words.size();) {
    const std::string& separator = words[i];
    if (separator.starts_with("::::")) {
      return InvalidArgument("unknown separator '{}'; write ::: NAME @FILE for the lines of a file",
                             separator);
    }
    if (!IsSeparator(separator))
      return InvalidArgument("expected ::: NAME VALUES, got '{}'", separator);
    const bool linked = separator == ":::+";
    if (linked && axes.empty()) {
      return InvalidArgument(
          "':::+' needs a preceding parameter to link with; write ::: for the first");
    }
    ++i;
    if (i == words.size() || IsSeparator(words[i])) {
      return InvalidArgument("missing parameter after '{0}'; write {0} NAME VALUES...", separator);
    }
    RETURN_IF_ERROR(CheckName(words[i], separator));
    Column column{.name = words[i], .values = {}};
    const std::size_t first = ++i;
    while (i < words.size() && !words[i].starts_with(":::")) ++i;
    auto values = ExpandWords(words.subspan(first, i - first), folder, sampled);
    if (!values) return InvalidArgument("{}: {}", column.name, values.error().message);
    column.values = *std::move(values);
    if (column.values.empty()) {
      return InvalidArgument("'{0}' has no values; write {1} {0} VALUES..., such as {1} {0} 1..10",
                             column.name, separator);
    }
    if (!linked) axes.emplace_back();
    RETURN_IF_ERROR(Link(axes.back(), std::move(column)));
  }
  return axes;
}

Result<ParameterTable> Grid(std::span<const Axis> axes) {
  std::size_t rows = 1;
  std::vector<const Column*> columns;
  for (const Axis& axis : axes) {
    if (axis.empty()) continue;
    const std::size_t length = axis.front().values.size();
    if (length != 0 && rows > kMaxSteps / length) {
      return InvalidArgument("the grid has more than {} steps; split it into several jobs",
                             kMaxSteps);
    }
    rows *= length;
    for (const Column& column : axis) {
      const auto same = [&](const Column* other) { return other->name == column.name; };
      if (std::ranges::any_of(columns, same)) {
        return InvalidArgument("duplicate parameter '{}'; rename one of them", column.name);
      }
      columns.push_back(&column);
    }
  }
  ParameterTable table(rows);
  std::size_t block = rows;  // number of consecutive rows with the same value of this axis
  for (const Axis& axis : axes) {
    if (axis.empty() || rows == 0) continue;
    block /= axis.front().values.size();
    for (const Column& column : axis) {
      table.AddColumn(column.name, TextList(column.values), block);
    }
  }
  return table;
}

Result<ParameterTable> ParseLines(std::string_view text, std::string_view name) {
  ASSIGN_OR_RETURN(const auto lines, SplitLines(text, name));
  ParameterTable table(lines.size());
  table.AddColumn("line", TextList(lines));
  return table;
}

}  // namespace reveza::jobs
