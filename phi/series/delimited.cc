#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>

#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

// Returns the name in a field of which the surrounding quotes are gone: a doubled quote is one.
std::string NameOf(std::string_view field) {
  std::string name;
  for (std::size_t i = 0; i < field.size(); ++i) {
    name += field[i];
    if (field.substr(i).starts_with("\"\"")) ++i;
  }
  return name;
}

// Returns the number of a field, NaN for missing values; nothing if it is neither.
std::optional<double> NumberOf(std::string_view field) {
  constexpr std::array<std::string_view, 7> kWords = {"",    "NA",   "N/A", "NaN",
                                                      "nan", "null", "NULL"};
  if (std::ranges::find(kWords, field) != kWords.end()) return kMissing;
  if (field.front() == '+') field.remove_prefix(1);
  double number = 0.0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (end != field.data() + field.size() || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  // Out of range of a double; the measures reject values that are not finite.
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  return number;
}

// Replaces `fields` by the fields of `line`, split at `separator` except within double quotes.
// Quotes and blanks are kept. Fields are views into `line`.
void SplitFields(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (quoted || line[i] != separator)) continue;
    fields.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
}

class DelimitedReader {
 public:
  DelimitedReader(std::string_view text, const std::string& name, const ReadOptions& options)
      : rest_(text), name_(name), options_(options) {}

  Result<SeriesTable> Read() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    if (!Next()) return InvalidArgument(name_ + ": the file is empty");
    separator_ = DetectDelimiter(line_);
    Split();
    const bool text = std::ranges::any_of(fields_, [](auto f) { return !NumberOf(f); });
    const bool counts = options_.header == ReadOptions::Header::kDetect && !text && IsCountAbove();
    const bool header = options_.header == ReadOptions::Header::kYes ||
                        (options_.header != ReadOptions::Header::kNo && (text || counts));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      names.push_back(header ? NameOf(fields_[i]) : fmt::format("{}", i));
    }
    ASSIGN_OR_RETURN(columns_, SelectColumns(names, name_, options_));
    SeriesTable table;
    for (const std::size_t column : columns_.chosen) table.names.push_back(names[column]);
    table.left_out = columns_.left_out;
    table.numbers_as_names = counts;
    if (!header) {
      RETURN_IF_ERROR(Add(names, table));
    }
    while (Next()) {
      Split();
      RETURN_IF_ERROR(Add(names, table));
    }
    if (table.values.empty()) return InvalidArgument(name_ + ": no rows");
    LeaveOutCounters(options_, table);
    return table;
  }

 private:
  // Advances to the next line that is neither blank nor a comment. Returns false at the end.
  bool Next() {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      line_ = rest_.substr(0, end);
      rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
      ++number_;
      if (line_.ends_with('\r')) line_.remove_suffix(1);
      if (line_.find_first_not_of(' ') != std::string_view::npos && line_.front() != '#')
        return true;
    }
    return false;
  }

  // Returns whether the first row counts its columns from 0 or 1, perhaps after an index without a
  // name, above rows with decimals: the names that pandas gives to columns without any.
  bool IsCountAbove() {
    std::span<const std::string_view> names = fields_;
    if (names.front().empty()) names = names.subspan(1);
    if (names.size() < 2 || (names.front() != "0" && names.front() != "1")) return false;
    const int first = names.front() == "1" ? 1 : 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != fmt::format("{}", first + static_cast<int>(i))) return false;
    }
    const auto [rest, line, number] = std::tuple(rest_, line_, number_);
    constexpr int kRows = 10;  // the first may be whole numbers, such as a start at 0
    bool decimals = false;
    for (int row = 0; row < kRows && !decimals && Next(); ++row) {
      Split();
      decimals = std::ranges::any_of(fields_, [](std::string_view field) {
        return field.find('.') != std::string_view::npos && NumberOf(field);
      });
    }
    std::tie(rest_, line_, number_) = std::tuple(rest, line, number);
    Split();
    return decimals;
  }

  // Returns the separator of the line, outside of double quotes.
  static char DetectDelimiter(std::string_view line) {
    std::vector<std::string_view> fields;
    for (const char separator : {'\t', ';', ','}) {
      SplitFields(line, separator, fields);
      if (fields.size() > 1) return separator;
    }
    return ' ';
  }

  // Splits the line into fields without surrounding blanks and quotes. Separators within quotes do
  // not split.
  void Split() {
    fields_.clear();
    if (separator_ != ' ') {
      SplitFields(line_, separator_, fields_);
      for (std::string_view& field : fields_) field = Trimmed(field);
      return;
    }
    for (const auto field : std::views::split(line_, ' ')) {
      if (!field.empty()) fields_.push_back(Trimmed(std::string_view(field)));
    }
  }

  Status Add(const std::vector<std::string>& names, SeriesTable& table) {
    if (fields_.size() != names.size()) {
      return InvalidArgument("{} line {}: {} fields, but the first line has {}", name_, number_,
                             fields_.size(), names.size());
    }
    if (columns_.trials) {
      const std::string_view trial = fields_[*columns_.trials];
      if (!table.values.empty() && trial != trial_) table.trials.push_back(table.length());
      trial_ = trial;
    }
    table.lines.push_back(number_);
    for (const std::size_t column : columns_.chosen) {
      const auto number = NumberOf(fields_[column]);
      if (!number && !options_.text_is_missing) {
        return InvalidArgument(
            "{} line {}: column '{}' has '{}', which is not a number; select numeric columns with "
            "--columns",
            name_, number_, names[column], fields_[column]);
      }
      table.values.push_back(number.value_or(kMissing));
    }
    return {};
  }

  std::string_view rest_;
  const std::string& name_;
  const ReadOptions& options_;
  std::string_view line_;
  std::int64_t number_ = 0;
  char separator_ = ',';
  std::vector<std::string_view> fields_;
  SelectedColumns columns_;
  std::string_view trial_;
};

}  // namespace

Result<SeriesTable> ReadDelimited(std::string_view text, const std::string& name,
                                  const ReadOptions& options) {
  return DelimitedReader(text, name, options).Read();
}

}  // namespace reveza::phi
