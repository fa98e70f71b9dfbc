#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

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

// What a field says; nothing where it is neither a number nor one of the words for "not known".
std::optional<double> NumberOf(std::string_view field) {
  constexpr std::array<std::string_view, 7> kUnknown = {"",    "NA",   "N/A", "NaN",
                                                        "nan", "null", "NULL"};
  if (std::ranges::find(kUnknown, field) != kUnknown.end()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (field.front() == '+') field.remove_prefix(1);
  double number = 0.0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (end != field.data() + field.size() || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  // Too large or too small for a double: who measures refuses what is not finite.
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  return number;
}

class Separated {
 public:
  Separated(std::string_view text, const std::string& name, const ReadOptions& options)
      : rest_(text), name_(name), options_(options) {}

  Result<SeriesTable> Read() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    if (!Next()) return Wrong(name_ + ": it is empty");
    separator_ = SeparatorOf(line_);
    Split();
    const bool header = std::ranges::any_of(fields_, [](auto f) { return !NumberOf(f); });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      names.push_back(header ? std::string(fields_[i]) : fmt::format("{}", i));
    }
    if (auto chosen = Choose(names); !chosen) return std::unexpected(chosen.error());
    SeriesTable table;
    for (const std::size_t column : chosen_) table.names.push_back(names[column]);
    if (!header) {
      if (auto added = Add(names, table); !added) return std::unexpected(added.error());
    }
    while (Next()) {
      Split();
      if (auto added = Add(names, table); !added) return std::unexpected(added.error());
    }
    if (table.values.empty()) return Wrong(name_ + ": it has no rows");
    return table;
  }

 private:
  // The next line that is neither empty nor a comment.
  bool Next() {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      line_ = rest_.substr(0, end);
      rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
      ++number_;
      if (line_.ends_with('\r')) line_.remove_suffix(1);
      if (!line_.empty() && line_.front() != '#') return true;
    }
    return false;
  }

  static char SeparatorOf(std::string_view line) {
    for (const char separator : {'\t', ';', ','}) {
      if (line.find(separator) != std::string_view::npos) return separator;
    }
    return ' ';
  }

  // Fields without blanks and quotes around them; a separator inside of quotes stays in its field.
  void Split() {
    fields_.clear();
    if (separator_ == ' ') return SplitByBlanks();
    std::size_t begin = 0;
    bool quoted = false;
    for (std::size_t i = 0; i <= line_.size(); ++i) {
      if (i < line_.size() && line_[i] == '"') quoted = !quoted;
      if (i < line_.size() && (quoted || line_[i] != separator_)) continue;
      fields_.push_back(Trimmed(line_.substr(begin, i - begin)));
      begin = i + 1;
    }
  }

  void SplitByBlanks() {
    std::string_view rest = line_;
    while (true) {
      const auto begin = rest.find_first_not_of(' ');
      if (begin == std::string_view::npos) return;
      rest.remove_prefix(begin);
      const auto end = rest.find(' ');
      fields_.push_back(Trimmed(rest.substr(0, end)));
      if (end == std::string_view::npos) return;
      rest.remove_prefix(end);
    }
  }

  Status Choose(const std::vector<std::string>& names) {
    auto chosen = ChosenColumns(names, name_, options_);
    if (!chosen) return std::unexpected(chosen.error());
    chosen_ = *std::move(chosen);
    if (options_.trials.empty()) return {};
    const auto column = ColumnOf(names, name_, options_.trials);
    if (!column) return std::unexpected(column.error());
    trials_ = *column;
    return {};
  }

  Status Add(const std::vector<std::string>& names, SeriesTable& table) {
    if (fields_.size() != names.size()) {
      return Wrong(fmt::format("{} line {}: {} fields, the first line has {}", name_, number_,
                               fields_.size(), names.size()));
    }
    if (trials_) {
      const std::string_view trial = fields_[*trials_];
      if (!table.values.empty() && trial != trial_) table.trials.push_back(table.length());
      trial_ = trial;
    }
    for (const std::size_t column : chosen_) {
      const auto number = NumberOf(fields_[column]);
      if (!number) {
        return Wrong(fmt::format(
            "{} line {}: column '{}' has '{}', which is no number; choose the columns that have "
            "numbers with --columns",
            name_, number_, names[column], fields_[column]));
      }
      table.values.push_back(*number);
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
  std::vector<std::size_t> chosen_;
  std::optional<std::size_t> trials_;
  std::string_view trial_;
};

}  // namespace

Result<SeriesTable> ReadSeparated(std::string_view text, const std::string& name,
                                  const ReadOptions& options) {
  return Separated(text, name, options).Read();
}

}  // namespace reveza::phi
