#include "phi/plot/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file_bytes.h"
#include "phi/series/series_table.h"
#include "platform/list_folder.h"

namespace reveza::phi {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string_view> Cells(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    if (at < line.size() && line[at] == '"') quoted = !quoted;
    if (at < line.size() && (quoted || line[at] != separator)) continue;
    std::string_view cell = line.substr(begin, at - begin);
    if (cell.size() >= 2 && cell.front() == '"') cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
    begin = at + 1;
  }
  return cells;
}

double NumberOf(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of(' ');
  if (first == std::string_view::npos) return kNotANumber;
  cell = cell.substr(first, cell.find_last_not_of(' ') - first + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size() ? value : kNotANumber;
}

Result<PlotTable> FromSeries(const std::string& path) {
  const auto series = ReadSeries(path, {});
  if (!series) return std::unexpected(series.error());
  if (series->trials.size() > 1) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{} has {} trials, and a window must not reach over two; draw one "
                            "alone, or what `phi measure --window` makes of all",
                            path, series->trials.size()));
  }
  PlotTable table;
  table.names = series->names;
  table.columns.resize(table.names.size());
  for (std::size_t i = 0; i < series->values.size(); ++i) {
    table.columns[i % table.names.size()].push_back(series->values[i]);
  }
  return table;
}

Result<PlotTable> FromParts(const std::filesystem::path& folder) {
  const auto parts = platform::ListFolder(folder);
  if (!parts) return std::unexpected(parts.error());
  PlotTable whole;
  for (const std::filesystem::path& part : *parts) {
    if (part.extension() != ".parquet") continue;
    auto table = FromSeries(part.string());
    if (!table) return table;
    if (whole.names.empty()) {
      whole = std::move(*table);
      continue;
    }
    if (table->names != whole.names) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("{} has other columns than the parts before it", part.string()));
    }
    for (std::size_t i = 0; i < whole.columns.size(); ++i) {
      whole.columns[i].insert(whole.columns[i].end(), table->columns[i].begin(),
                              table->columns[i].end());
    }
  }
  return whole;
}

// A whole number of a summary's parameters, which are texts.
std::optional<int> WholeOf(const nlohmann::json& parameters, const char* name, int least) {
  const auto found = parameters.find(name);
  if (found == parameters.end() || !found->is_string()) return std::nullopt;
  const double number = NumberOf(found->get_ref<const std::string&>());
  if (!(number >= least && number <= 1e6)) return std::nullopt;
  return static_cast<int>(number);
}

// What the folder's summary says, where there is one that says all.
std::optional<RunParameters> ParametersOf(const std::filesystem::path& folder) {
  if (!std::filesystem::is_regular_file(folder / "summary.json")) return std::nullopt;
  const auto text = FileBytes(folder / "summary.json");
  if (!text) return std::nullopt;
  const auto summary = nlohmann::json::parse(*text, nullptr, false);
  if (!summary.is_object() || !summary.contains("parameters")) return std::nullopt;
  const auto& parameters = summary["parameters"];
  if (!parameters.is_object()) return std::nullopt;
  const auto dimension = WholeOf(parameters, "dimension", 1);
  const auto window = WholeOf(parameters, "window", 2);
  const auto lag = WholeOf(parameters, "lag", 1);
  const std::string minimum = parameters.value("mip", nlohmann::json()).dump();
  if (!dimension || !window || !lag || (minimum != "\"yes\"" && minimum != "\"no\"")) {
    return std::nullopt;
  }
  return RunParameters{
      .dimension = *dimension, .window = *window, .lag = *lag, .minimum = minimum == "\"yes\""};
}

Result<PlotTable> FromFolder(const std::filesystem::path& folder) {
  Result<PlotTable> table;
  if (std::filesystem::exists(folder / "rows.csv")) {
    table = ReadPlotTable((folder / "rows.csv").string());
  } else if (std::filesystem::exists(folder / "rows.parquet")) {
    table = FromParts(folder / "rows.parquet");
  } else if (std::filesystem::exists(folder / "rows.jsonl")) {
    table = ReadPlotTable((folder / "rows.jsonl").string());
  } else {
    return Fail(
        Error::Code::kNotFound,
        fmt::format(
            "{} has neither rows.csv, rows.jsonl nor rows.parquet; `phi run -o FOLDER` writes "
            "them",
            folder.string()));
  }
  if (table) table->run = ParametersOf(folder);
  return table;
}

}  // namespace

const std::vector<double>* PlotTable::Find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &columns[static_cast<std::size_t>(found - names.begin())];
}

Result<PlotTable> PlotTableFromCsv(std::string_view text, const std::string& name) {
  PlotTable table;
  char separator = ',';
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (table.names.empty()) {
      for (const char other : {';', '\t'}) {
        if (!line.contains(',') && line.contains(other)) separator = other;
      }
    }
    const auto cells = Cells(line, separator);
    if (table.names.empty()) {
      const bool is_heading = std::ranges::any_of(
          cells, [](std::string_view cell) { return NumberOf(cell) != NumberOf(cell); });
      for (std::size_t i = 0; i < cells.size(); ++i) {
        table.names.push_back(is_heading ? std::string(cells[i]) : fmt::format("x{}", i));
      }
      table.columns.resize(cells.size());
      if (is_heading) continue;
    }
    if (cells.size() != table.names.size()) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("{}, line {}: {} fields, and {} in the first line", name, number,
                              cells.size(), table.names.size()));
    }
    for (std::size_t i = 0; i < cells.size(); ++i) table.columns[i].push_back(NumberOf(cells[i]));
  }
  if (table.rows() == 0) {
    return Fail(Error::Code::kInvalidArgument, fmt::format("{} has no rows", name));
  }
  return table;
}

Result<PlotTable> PlotTableFromJsonLines(std::string_view text, const std::string& name) {
  PlotTable table;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    const auto row = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!row.is_object()) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("{}, line {}: no object of JSON", name, number));
    }
    if (table.names.empty()) {
      for (const auto& [key, value] : row.items()) table.names.push_back(key);
      table.columns.resize(table.names.size());
    }
    for (std::size_t i = 0; i < table.names.size(); ++i) {
      const auto cell = row.find(table.names[i]);
      const bool is_number = cell != row.end() && cell->is_number();
      table.columns[i].push_back(is_number ? cell->get<double>() : kNotANumber);
    }
  }
  if (table.rows() == 0) {
    return Fail(Error::Code::kInvalidArgument, fmt::format("{} has no rows", name));
  }
  return table;
}

Result<PlotTable> ReadPlotTable(const std::string& path) {
  if (std::filesystem::is_directory(path)) return FromFolder(path);
  if (path.ends_with(".parquet") || path.ends_with(".npy")) return FromSeries(path);
  const auto text = FileBytes(path);
  if (!text) return std::unexpected(text.error());
  auto table = path.ends_with(".jsonl") ? PlotTableFromJsonLines(*text, path)
                                        : PlotTableFromCsv(*text, path);
  const std::filesystem::path file(path);
  if (table && file.stem() == "rows") table->run = ParametersOf(file.parent_path());
  return table;
}

}  // namespace reveza::phi
