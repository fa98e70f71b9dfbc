#include "phi/plot/table_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/base/parse_number.h"
#include "common/base/read_file.h"
#include "common/platform/text_file.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

Result<PlotTable> FromSeries(const SeriesTable& series, const std::string& name) {
  if (series.trials.size() > 1) {
    return InvalidArgument(
        "{} has {} trials, and windows must not span trials; plot a single trial, or the output of "
        "`phi measure --window`",
        name, series.trials.size());
  }
  PlotTable table;
  table.names = series.names;
  table.lines = series.lines;
  table.columns.resize(table.names.size());
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    table.columns[i % table.names.size()].push_back(series.values[i]);
  }
  return table;
}

Result<PlotTable> FromSeriesFile(const std::string& path) {
  ASSIGN_OR_RETURN(const auto series, ReadSeries(path, {}));
  return FromSeries(series, path);
}

Result<PlotTable> FromParts(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const auto parts, platform::ListFolder(folder));
  PlotTable whole;
  for (const std::filesystem::path& part : parts) {
    if (part.extension() != ".parquet") continue;
    ASSIGN_OR_RETURN(auto table, FromSeriesFile(part.string()));
    if (whole.names.empty()) {
      whole = std::move(table);
      continue;
    }
    if (table.names != whole.names) {
      return InvalidArgument("{} has different columns from the preceding parts", part.string());
    }
    for (std::size_t i = 0; i < whole.columns.size(); ++i) {
      whole.columns[i].insert(whole.columns[i].end(), table.columns[i].begin(),
                              table.columns[i].end());
    }
  }
  return whole;
}

// Parses an integer parameter of a summary, which stores parameters as strings.
std::optional<int> ParseInteger(const nlohmann::json& parameters, const char* name, int min) {
  const auto found = parameters.find(name);
  if (found == parameters.end() || !found->is_string()) return std::nullopt;
  const auto number = ParseNumber<int>(found->get_ref<const std::string&>());
  return number && *number >= min && *number <= 1'000'000 ? number : std::nullopt;
}

// Reads the parameters from the folder's summary; nothing if it is missing or incomplete.
std::optional<RunParameters> ReadRunParameters(const std::filesystem::path& folder) {
  if (!std::filesystem::is_regular_file(folder / "summary.json")) return std::nullopt;
  const auto text = ReadFile(folder / "summary.json");
  if (!text) return std::nullopt;
  const auto summary = nlohmann::json::parse(*text, nullptr, false);
  if (!summary.is_object() || !summary.contains("parameters")) return std::nullopt;
  const auto& parameters = summary["parameters"];
  if (!parameters.is_object()) return std::nullopt;
  const auto dimension = ParseInteger(parameters, "dimension", 1);
  const auto window = ParseInteger(parameters, "window", 2);
  const auto lag = ParseInteger(parameters, "lag", 1);
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
  } else {
    return Fail(Error::Code::kNotFound,
                "{} contains neither rows.csv nor rows.parquet, which `phi run -o FOLDER` writes",
                folder.string());
  }
  if (table) table->run = ReadRunParameters(folder);
  return table;
}

}  // namespace

const std::vector<double>* PlotTable::Find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &columns[found - names.begin()];
}

Result<PlotTable> PlotTableFromCsv(std::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(const auto series, ReadDelimited(text, name, {.text_is_missing = true}));
  return FromSeries(series, name);
}

Result<PlotTable> ReadPlotTable(const std::string& path) {
  if (std::filesystem::is_directory(path)) return FromFolder(path);
  if (path.ends_with(".parquet") || path.ends_with(".npy")) return FromSeriesFile(path);
  ASSIGN_OR_RETURN(const auto text, ReadFile(path));
  auto table = PlotTableFromCsv(text, path);
  const std::filesystem::path file(path);
  if (table && file.stem() == "rows") table->run = ReadRunParameters(file.parent_path());
  return table;
}

}  // namespace reveza::phi
