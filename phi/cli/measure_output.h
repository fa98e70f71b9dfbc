// What `phi measure` and `phi theory` share: the choice of measures, and their formats as text
// table, JSON and CSV. Pure functions, except those that add options or print.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/cli/progress_line.h"
#include "phi/measures/granger.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/sliding_windows.h"
#include "phi/measures/whole_series.h"
#include "phi/measures/window.h"
#include "phi/series/series_table.h"

namespace reveza::phi {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

// Returns a value with nine decimals; never "-0.000000000".
std::string Nats(double value);
// Returns rows of equal length as text: each column padded to its widest cell, empty columns left
// out.
std::string Aligned(const std::vector<std::vector<std::string>>& rows);
// Returns the names of variables, separated by commas.
std::string NameList(const std::vector<int>& variables, const Names& names);
// Returns a CSV field (RFC 4180): in quotes, which are doubled within, if it has separators, quotes
// or line breaks, or blanks at its ends.
std::string Quoted(const std::string& text);

// Lets searches by Queyranne's algorithm show their progress; `line` must outlive them.
void ShowSearches(ProgressLine& line, WindowOptions& options);

// Returns a table of measure, value in nats and partition, with a column for each statistic that
// at least one value has.
std::string ToTable(const std::vector<MeasuredValue>& values, const Names& names);
Json ToJson(const std::vector<MeasuredValue>& values, const Names& names);
// `bias_holds`: whether the rows are independent, as bias-corrected values take for granted.
std::string ToCsv(const std::vector<MeasuredValue>& values, const Names& names,
                  bool bias_holds = true);

// CSV columns: window, first_row, last_row, then each measure, followed by its partition if it has
// one; `missing`, why cells are empty, if any are.
std::string ToCsv(const std::vector<MeasuredWindow>& windows, const Names& names);
Json ToJson(const std::vector<MeasuredWindow>& windows, const Names& names);

std::string ToText(const std::vector<Complex>& complexes, Measure measure, const Names& names);
Json ToJson(const std::vector<Complex>& complexes, const Names& names);

std::string ToText(const Granger& granger, const Names& names);
Json ToJson(const Granger& granger, const Names& names);

// Adds what was not taken as it stands in the file: columns that were left out, and a first row of
// numbers that was taken for names.
void AddReading(const SeriesTable& table, Json& document, std::string& text);

// Which form to print; a text table if neither.
struct OutputFormat {
  bool json = false, csv = false;
};

void AddOutputFormat(CLI::App& options, OutputFormat& format, const std::string& csv_help);
void PrintResult(const OutputFormat& format, const Json& document, const std::string& csv,
                 const std::string& text);

void AddMeasureSelection(CLI::App& options, MeasureSelection& selection);
void AddExtraOptions(CLI::App& options, std::string& complexes, std::string& granger);

// Appends the complexes by measure `complexes` and the Granger causality of kind `granger`, each if
// not empty, to `document` and `text`. Without `samples`, causality has no p-values.
Status AddExtras(const GaussianModel& model, const std::string& complexes,
                 const std::string& granger, std::optional<std::int64_t> samples,
                 const Names& names, Json& document, std::string& text);

}  // namespace reveza::phi
