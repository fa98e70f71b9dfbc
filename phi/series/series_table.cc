#include "phi/series/series_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>
#include <span>
#include <utility>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/read_file.h"
#include "common/table/arrow.h"
#include "phi/arithmetic/finite.h"

namespace reveza::phi {
namespace {

// Returns the index of the column with the name or 0-based index `wanted`.
Result<std::size_t> FindColumn(const std::vector<std::string>& names, const std::string& file,
                               std::string_view wanted) {
  if (const auto named = std::ranges::find(names, wanted); named != names.end()) {
    const auto again = std::find(named + 1, names.end(), wanted);
    if (again == names.end()) return static_cast<std::size_t>(named - names.begin());
    return InvalidArgument("{}: columns {} and {} are both named '{}'; select one by its index",
                           file, named - names.begin(), again - names.begin(), wanted);
  }
  const auto number = ParseNumber<std::size_t>(wanted);
  if (number && *number < names.size()) return *number;
  const std::vector<std::string_view> views(names.begin(), names.end());
  return InvalidArgument("{}: no column '{}'{}; the file has {} columns", file, wanted,
                         DidYouMean(wanted, views), names.size());
}

// Returns whether the values of a column increase from row to row within each trial.
bool Increases(const std::vector<SeriesView>& trials, std::size_t column) {
  std::int64_t steps = 0;
  for (const SeriesView& trial : trials) {
    for (std::int64_t t = 1; t < trial.length; ++t, ++steps) {
      if (!(trial.Row(t)[column] > trial.Row(t - 1)[column])) return false;
    }
  }
  return steps > 0;
}

}  // namespace

std::vector<SeriesView> SeriesTable::Trials() const {
  std::vector<SeriesView> views;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::int64_t end = i + 1 < trials.size() ? trials[i + 1] : length();
    views.push_back(View().Part(trials[i], end - trials[i]));
  }
  return views;
}

std::int64_t SeriesTable::PlaceOf(std::int64_t row) const {
  const std::vector<std::int64_t>& places = lines.empty() ? rows : lines;
  return places.empty() ? row : places[static_cast<std::size_t>(row)];
}

std::string SeriesTable::FirstMissing() const {
  if (AllFinite(values)) return "";
  const auto found =
      std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  const auto at = static_cast<std::size_t>(found - values.begin());
  const std::size_t row = at / names.size();
  return fmt::format("{} {}: '{}' is {}", lines.empty() ? "row" : "line",
                     PlaceOf(static_cast<std::int64_t>(row)), names[at % names.size()], *found);
}

std::int64_t SeriesTable::DropMissing() {
  SeriesTable kept;
  kept.trials.clear();
  bool begins = true;
  std::size_t next = 0;
  for (std::int64_t row = 0; row < length(); ++row) {
    if (next < trials.size() && trials[next] == row) {
      begins = true;
      ++next;
    }
    const std::span<const double> all(View().Row(row), names.size());
    if (!std::ranges::all_of(all, [](double value) { return std::isfinite(value); })) {
      begins = true;
      continue;
    }
    if (begins) {
      kept.trials.push_back(static_cast<std::int64_t>(kept.values.size() / names.size()));
    }
    begins = false;
    kept.values.insert(kept.values.end(), all.begin(), all.end());
    (lines.empty() ? kept.rows : kept.lines).push_back(PlaceOf(row));
  }
  const std::int64_t dropped =
      length() - static_cast<std::int64_t>(kept.values.size() / names.size());
  if (kept.trials.empty()) kept.trials.push_back(0);
  values = std::move(kept.values);
  trials = std::move(kept.trials);
  lines = std::move(kept.lines);
  rows = std::move(kept.rows);
  return dropped;
}

void SeriesTable::CutTrials(std::int64_t common) {
  SeriesTable kept;
  kept.trials.clear();
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    const std::int64_t first = trials[trial];
    const std::int64_t end = trial + 1 < trials.size() ? trials[trial + 1] : length();
    if (end - first < common) continue;
    kept.trials.push_back(static_cast<std::int64_t>(kept.values.size() / names.size()));
    kept.values.insert(kept.values.end(), View().Row(first), View().Row(first + common));
    for (std::int64_t row = first; row < first + common; ++row) {
      (lines.empty() ? kept.rows : kept.lines).push_back(PlaceOf(row));
    }
  }
  values = std::move(kept.values);
  trials = std::move(kept.trials);
  lines = std::move(kept.lines);
  rows = std::move(kept.rows);
}

Result<std::int64_t> ResolveMissing(SeriesTable& table, std::string_view missing,
                                    const std::string& file) {
  if (missing == "drop") return table.DropMissing();
  const std::string first = table.FirstMissing();
  if (first.empty()) return 0;
  return InvalidArgument(
      "{} {}; --missing drop leaves out such rows, across which nothing is paired", file, first);
}

bool IsTimeName(std::string_view name) {
  std::string lower(name);
  for (char& letter : lower) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  const auto is_letter = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0;
  };
  const auto after = std::ranges::find_if_not(lower, is_letter);
  const std::string word(lower.begin(), after);
  std::string rest(after, lower.end());
  // "time", "time_ms", "Timestamp (UTC)", but not "timer".
  if (word == "time" || word == "timestamp" || word == "timestamps") return true;
  constexpr std::array<std::string_view, 6> kWords = {"t",       "date",    "datetime",
                                                      "seconds", "elapsed", "epoch"};
  if (std::ranges::find(kWords, word) == kWords.end()) return false;
  // Of these, only with a unit: "t(ms)", "elapsed_s", but not "date_rate"; and "t_s" may be a name.
  if (word == "t" && rest.find_first_of("([") == std::string::npos) return rest.empty();
  std::erase_if(rest, [&](char letter) { return !is_letter(letter); });
  constexpr std::array<std::string_view, 13> kUnits = {
      "", "s", "ms", "us", "ns", "sec", "seconds", "min", "h", "hours", "utc", "time", "unix"};
  return std::ranges::find(kUnits, rest) != kUnits.end();
}

bool IsCounterName(std::string_view name) {
  std::string lower(name);
  for (char& letter : lower) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return lower.empty() || lower == "index" || lower == "sample" || lower.starts_with("unnamed: ") ||
         lower.starts_with("__index_level_");
}

void LeaveOutCounters(const ReadOptions& options, SeriesTable& table) {
  if (!options.columns.empty() || std::ranges::none_of(table.names, IsCounterName)) return;
  const std::vector<SeriesView> trials = table.Trials();
  std::vector<std::size_t> kept;
  std::vector<std::string> names, left_out;
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    if (IsCounterName(table.names[column]) && Increases(trials, column)) {
      left_out.push_back(table.names[column]);
    } else {
      kept.push_back(column);
      names.push_back(table.names[column]);
    }
  }
  if (kept.empty()) return;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(table.length()) * kept.size());
  for (std::int64_t row = 0; row < table.length(); ++row) {
    for (const std::size_t column : kept) values.push_back(table.View().Row(row)[column]);
  }
  table.values = std::move(values);
  table.names = std::move(names);
  table.left_out.insert(table.left_out.begin(), left_out.begin(), left_out.end());
}

Result<SelectedColumns> SelectColumns(const std::vector<std::string>& names,
                                      const std::string& file, const ReadOptions& options) {
  SelectedColumns selected;
  for (const std::string& wanted : options.columns) {
    ASSIGN_OR_RETURN(const auto column, FindColumn(names, file, wanted));
    if (std::ranges::find(selected.chosen, column) != selected.chosen.end()) {
      return InvalidArgument("column '{}' is selected twice", wanted);
    }
    selected.chosen.push_back(column);
  }
  if (!options.trials.empty()) {
    ASSIGN_OR_RETURN(selected.trials, FindColumn(names, file, options.trials));
  }
  if (!selected.chosen.empty()) return selected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == selected.trials) continue;
    if (IsTimeName(names[i])) {
      selected.left_out.push_back(names[i]);
    } else {
      selected.chosen.push_back(i);
    }
  }
  if (selected.chosen.empty()) return InvalidArgument(file + ": no columns to measure");
  return selected;
}

Result<SeriesTable> ReadSeries(const std::string& path, const ReadOptions& options) {
  if (path.ends_with(".parquet")) {
    if constexpr (kHaveArrow) return ReadParquet(path, options);
    return WithoutArrow("Parquet files", "save the series as CSV");
  }
  const bool numpy = path.ends_with(".npy");
  if (!numpy && !path.ends_with(".csv") && !path.ends_with(".tsv") && !path.ends_with(".txt")) {
    return InvalidArgument(path + ": unknown extension; use .csv, .tsv, .txt, .parquet or .npy");
  }
  if (numpy) return ReadNumpyFile(path, options);
  ASSIGN_OR_RETURN(const auto bytes, ReadFile(path));
  return ReadDelimited(bytes, path, options);
}

std::vector<std::string> ColumnNames(const std::string& path) {
  if (path.ends_with(".parquet")) {
    if constexpr (kHaveArrow) return ParquetColumns(path).value_or(std::vector<std::string>());
    return {};
  }
  if (path.ends_with(".npy")) return {};
  constexpr std::size_t kMaxRead = 64 << 10;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxRead, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  // The last line may be cut.
  if (text.size() == kMaxRead) text.resize(text.rfind('\n') + 1);
  const auto table = ReadDelimited(text, path, {.text_is_missing = true});
  if (!table) return {};
  std::vector<std::string> names = table->names;
  names.insert(names.end(), table->left_out.begin(), table->left_out.end());
  return names;
}

}  // namespace reveza::phi
