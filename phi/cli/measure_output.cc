#include "phi/cli/measure_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "common/base/json_text.h"
#include "common/base/units.h"
#include "phi/cli/commands.h"

namespace reveza::phi {
namespace {

std::string PartitionText(const WindowValue& value, const Names& names) {
  return value.partition ? value.partition->Text(names) : "";
}

std::string SearchNote(const WindowValue& value) {
  // Of two variables, there is one bipartition.
  if (value.examined == 0 || value.partition->variables() == 2) return "";
  const std::int64_t all = (std::int64_t{1} << std::min(value.partition->variables() - 1, 62)) - 1;
  if (value.exact || (value.method == SearchMethod::kExhaustive && value.examined == all)) {
    return fmt::format("lowest of {}", value.examined);
  }
  if (value.method == SearchMethod::kQueyranne) {
    return fmt::format("approximate, {} examined", value.examined);
  }
  return fmt::format("lowest of the {} lowest by si", value.examined);
}

// What qualifies a value: its search, its minimisation, or why there is none.
std::string Note(const WindowValue& value) {
  if (!value.missing.empty()) return value.missing;
  std::string note = SearchNote(value);
  if (value.starts > 0) {
    note += fmt::format("{}lowest of {} starts, {} agree; at least {:.6f}",
                        note.empty() ? "" : "; ", value.starts, value.agreed, value.at_least);
  }
  return note;
}

std::string Note(const MeasuredValue& measured) {
  std::string note = Note(measured.value);
  const auto add = [&](const std::string& what, const std::string& reason) {
    if (!reason.empty()) note += fmt::format("{}no {}: {}", note.empty() ? "" : "; ", what, reason);
  };
  if (measured.significance) add("p", measured.significance->missing);
  if (measured.interval) add("interval", measured.interval->missing);
  return note;
}

Json ToJson(const WindowValue& value, const Names& names) {
  Json json = {{"measure", NameOf(value.measure)}, {"nats", value.value}};
  if (!value.missing.empty()) {
    json["nats"] = nullptr;
    json["missing"] = value.missing;
    return json;
  }
  if (value.partition) json["partition"] = value.partition->Text(names);
  if (value.examined > 0) {
    json["bipartitions_compared"] = value.examined;
    json["minimum_is_exact"] = value.exact;
  }
  if (value.starts > 0) {
    json["starts"] = {{"count", value.starts}, {"agreed", value.agreed}};
    json["at_least"] = value.at_least;
  }
  return json;
}

// Returns why values of a window are missing: the reason of all, or those of each.
std::string MissingOf(const MeasuredWindow& window) {
  const auto& values = window.values;
  if (std::ranges::all_of(values, [&](const WindowValue& value) {
        return value.missing == values.front().missing;
      })) {
    return values.empty() ? "" : values.front().missing;
  }
  std::vector<std::string> reasons;
  for (const WindowValue& value : values) {
    if (value.missing.empty()) continue;
    reasons.push_back(fmt::format("{}: {}", NameOf(value.measure), value.missing));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

Json RowsOf(const Matrix& matrix) {
  Json rows = Json::array();
  for (int i = 0; i < matrix.rows(); ++i) {
    rows.push_back(std::vector<double>(matrix.Row(i), matrix.Row(i) + matrix.columns()));
  }
  return rows;
}

}  // namespace

std::string NameList(const std::vector<int>& variables, const Names& names) {
  const auto name = [&](int variable) -> const std::string& { return names[variable]; };
  return fmt::format("{}", fmt::join(variables | std::views::transform(name), ","));
}

std::string Nats(double value) {
  return fmt::format("{:.9f}", std::abs(value) < 5e-10 ? 0.0 : value);
}

std::string Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths[i] == 0) continue;
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string Quoted(const std::string& text) {
  // Readers may strip blanks around fields, ours among them.
  if (text.find_first_of(",;\"\t\r\n") == std::string::npos && !text.starts_with(' ') &&
      !text.ends_with(' ')) {
    return text;
  }
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

void ShowSearches(ProgressLine& line, WindowOptions& options) {
  if (!options.minimum) return;
  options.minimum->progress = [&line](const SearchProgress& now) {
    if (now.done == 0) {
      line.Show(fmt::format("{}: {} passes, about {}", NameOf(now.measure), now.all,
                            FormatSeconds(now.expected_seconds)));
      return;
    }
    const char* const items = now.stage == SearchStage::kPasses ? "pass" : "bipartition";
    line.Show(fmt::format("{}: {}", NameOf(now.measure), items), now.done, now.all);
  };
}

std::string ToTable(const std::vector<MeasuredValue>& values, const Names& names) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"measure", "nats", "", "", "", "", "partition", ""});
  for (const MeasuredValue& row : values) {
    auto& cells = rows.emplace_back();
    cells.emplace_back(NameOf(row.value.measure));
    cells.push_back(row.value.missing.empty() ? Nats(row.value.value) : "-");
    cells.push_back(row.bias ? fmt::format("{:.6f}", row.value.value - *row.bias) : "");
    const bool bounded = row.interval && row.interval->missing.empty();
    const bool tested = row.significance && row.significance->missing.empty();
    cells.push_back(bounded ? fmt::format("{:.4f} to {:.4f}", row.interval->low, row.interval->high)
                            : "");
    cells.push_back(tested ? fmt::format("{:.4f}", row.significance->null_high) : "");
    cells.push_back(tested ? fmt::format("{:.4g}", row.significance->p) : "");
    cells.push_back(PartitionText(row.value, names));
    cells.push_back(Note(row));
    if (row.bias) rows.front()[2] = "bias-corrected";
    if (row.interval) rows.front()[3] = "95% interval";
    if (row.significance) {
      rows.front()[4] = "null 95%";
      rows.front()[5] = "p";
    }
  }
  return Aligned(rows);
}

Json ToJson(const std::vector<MeasuredValue>& values, const Names& names) {
  Json rows = Json::array();
  for (const MeasuredValue& value : values) {
    Json row = ToJson(value.value, names);
    if (value.bias) row["less_bias"] = value.value.value - *value.bias;
    if (value.interval) {
      row["interval"] = {{"low", value.interval->low},
                         {"high", value.interval->high},
                         {"replicates", value.interval->replicates},
                         {"block", value.interval->block}};
      if (!value.interval->missing.empty()) row["interval"]["missing"] = value.interval->missing;
    }
    if (value.significance) {
      row["surrogates"] = {{"p", value.significance->p},
                           {"null_mean", value.significance->null_mean},
                           {"null_95_percent", value.significance->null_high},
                           {"count", value.significance->surrogates}};
      if (!value.significance->missing.empty()) {
        row["surrogates"]["missing"] = value.significance->missing;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ToCsv(const std::vector<MeasuredValue>& values, const Names& names, bool bias_holds) {
  std::string text =
      "measure,nats,less_bias,low,high,null_95_percent,p,partition,exact,less_bias_holds\n";
  const auto optional = [](const auto& from, auto member) {
    return from && from->missing.empty() ? fmt::format("{}", (*from).*member) : std::string();
  };
  for (const MeasuredValue& row : values) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{}\n", NameOf(row.value.measure),
                    row.value.missing.empty() ? fmt::format("{}", row.value.value) : "",
                    row.bias ? fmt::format("{}", row.value.value - *row.bias) : "",
                    optional(row.interval, &Interval::low), optional(row.interval, &Interval::high),
                    optional(row.significance, &Significance::null_high),
                    optional(row.significance, &Significance::p),
                    Quoted(PartitionText(row.value, names)), row.value.exact ? "yes" : "no",
                    !row.bias    ? ""
                    : bias_holds ? "yes"
                                 : "no");
  }
  return text;
}

std::string ToCsv(const std::vector<MeasuredWindow>& windows, const Names& names) {
  std::string text = "window,first_row,last_row";
  std::vector<bool> partitioned;  // by measure: whether any window has a partition
  for (std::size_t i = 0; !windows.empty() && i < windows.front().values.size(); ++i) {
    const std::string_view measure = NameOf(windows.front().values[i].measure);
    partitioned.push_back(std::ranges::any_of(windows, [&](const MeasuredWindow& window) {
      return window.values[i].partition.has_value();
    }));
    text += fmt::format(",{}", measure);
    if (partitioned.back()) text += fmt::format(",{}_partition", measure);
  }
  const bool legacy = std::ranges::any_of(
      windows, [](const MeasuredWindow& window) { return window.legacy.has_value(); });
  if (legacy) text += ",mean_absolute_correlation";
  const bool missing = std::ranges::any_of(
      windows, [](const MeasuredWindow& window) { return !MissingOf(window).empty(); });
  text += missing ? ",missing\n" : "\n";
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const MeasuredWindow& window = windows[i];
    text += fmt::format("{},{},{}", i, window.first, window.last);
    for (std::size_t measure = 0; measure < window.values.size(); ++measure) {
      const WindowValue& value = window.values[measure];
      text += value.missing.empty() ? fmt::format(",{}", value.value) : ",";
      if (partitioned[measure]) text += ',' + Quoted(PartitionText(value, names));
    }
    if (legacy) text += window.legacy ? fmt::format(",{}", *window.legacy) : ",";
    if (missing) text += ',' + Quoted(MissingOf(window));
    text += '\n';
  }
  return text;
}

Json ToJson(const std::vector<MeasuredWindow>& windows, const Names& names) {
  Json rows = Json::array();
  for (const MeasuredWindow& window : windows) {
    Json row = {{"first_row", window.first}, {"last_row", window.last}};
    Json values = Json::array();
    for (const WindowValue& value : window.values) values.push_back(ToJson(value, names));
    row["measures"] = std::move(values);
    if (window.legacy) row["mean_absolute_correlation"] = *window.legacy;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ToText(const std::vector<Complex>& complexes, Measure measure, const Names& names) {
  std::vector<std::vector<std::string>> rows = {
      {"complex", fmt::format("{} at the MIP", NameOf(measure)), ""}};
  for (const Complex& one : complexes) {
    rows.push_back({NameList(one.variables, names), Nats(one.value), one.main ? "main" : ""});
  }
  return Aligned(rows);
}

Json ToJson(const std::vector<Complex>& complexes, const Names& names) {
  Json rows = Json::array();
  for (const Complex& one : complexes) {
    Json variables = Json::array();
    for (const int variable : one.variables) {
      variables.push_back(names[variable]);
    }
    rows.push_back({{"variables", variables}, {"nats", one.value}, {"main", one.main}});
  }
  return rows;
}

std::string ToText(const Granger& granger, const Names& names) {
  std::vector<std::vector<std::string>> rows = {{"from", "to", "granger, nats",
                                                 "transfer entropy, nats", granger.p ? "p" : "",
                                                 granger.q ? "q" : ""}};
  for (int from = 0; from < granger.causality.rows(); ++from) {
    for (int to = 0; to < granger.causality.columns(); ++to) {
      if (from == to) continue;
      const double value = granger.causality(from, to);
      rows.push_back({names[from], names[to], Nats(value), Nats(TransferEntropyOf(value)),
                      granger.p ? fmt::format("{:.3g}", (*granger.p)(from, to)) : "",
                      granger.q ? fmt::format("{:.3g}", (*granger.q)(from, to)) : ""});
    }
  }
  return Aligned(rows);
}

Json ToJson(const Granger& granger, const Names& names) {
  Json json = {{"orientation", "from_rows_to_columns"},
               {"variables", names},
               {"nats", RowsOf(granger.causality)}};
  if (granger.p) json["p"] = RowsOf(*granger.p);
  if (granger.q) json["q"] = RowsOf(*granger.q);
  return json;
}

void AddReading(const SeriesTable& table, Json& document, std::string& text) {
  if (!table.left_out.empty()) {
    document["left_out"] = table.left_out;
    const auto shown = [](const std::string& name) { return name.empty() ? "''" : name; };
    text += fmt::format("left out as times: {}; --columns includes them\n",
                        fmt::join(table.left_out | std::views::transform(shown), ", "));
  }
  if (table.numbers_as_names) {
    document["header"] = "numbers";
    text +=
        "the first row counts the columns and was taken for their names; --header no measures it\n";
  }
}

void AddOutputFormat(CLI::App& options, OutputFormat& format, const std::string& csv_help) {
  auto* const json = options.add_flag("--json", format.json, "print JSON");
  options.add_flag("--csv", format.csv, csv_help)->excludes(json);
}

void PrintResult(const OutputFormat& format, const Json& document, const std::string& csv,
                 const std::string& text) {
  if (format.json) {
    fmt::print("{}\n", JsonText(document, 2));
  } else {
    fmt::print("{}", format.csv ? csv : text);
  }
}

void AddMeasureSelection(CLI::App& options, MeasureSelection& selection) {
  AddDefaulted(options, "-m,--measure", selection.measures,
               "comma-separated measures: i, mi, si, wms, phi_r (two parts only), phi_g, "
               "phi_star, or all",
               "MEASURE,...");
  auto* const partition =
      AddOption(options, "-p,--partition", selection.partition, "PARTS",
                "parts as variable names or indices, such as '0,1|2,3'; default: atomic, one "
                "variable per part (phi_r: minimum bipartition)");
  auto* const minimum = AddOption(options, "--mip", selection.minimum, "exhaustive|queyranne",
                                  "evaluate each measure at its minimum information "
                                  "bipartition; exhaustive (up to 24 variables) or queyranne")
                            ->excludes(partition);
  options
      .add_flag("--normalised", selection.normalised,
                "minimise the value divided by the smaller entropy of the two parts (depends on "
                "units)")
      ->needs(minimum);
}

void AddExtraOptions(CLI::App& options, std::string& complexes, std::string& granger) {
  AddOption(options, "--complexes", complexes, "mi|si|wms",
            "also find complexes, by mi, si or wms");
  AddOption(options, "--granger", granger, "pair|conditional",
            "also compute Granger causality and transfer entropy: pair, or conditional (on "
            "all other variables)");
}

Status AddExtras(const GaussianModel& model, const std::string& complexes,
                 const std::string& granger, std::optional<std::int64_t> samples,
                 const Names& names, Json& document, std::string& text) {
  if (!complexes.empty()) {
    ASSIGN_OR_RETURN(const auto measure, ParseMeasure(complexes));
    ASSIGN_OR_RETURN(const auto found, ComplexesOf(model, measure));
    document["complexes"] = {{"measure", NameOf(measure)}, {"found", ToJson(found, names)}};
    text += '\n' + ToText(found, measure, names);
  }
  if (granger.empty()) return {};
  if (granger != "pair" && granger != "conditional") {
    return InvalidArgument("--granger: unknown kind '{}'; use pair or conditional", granger);
  }
  const Granger found =
      GrangerOf(model, granger == "pair" ? GrangerKind::kPair : GrangerKind::kConditional, samples);
  document["granger"] = ToJson(found, names);
  document["granger"]["kind"] = granger;
  text += '\n' + ToText(found, names);
  return {};
}

}  // namespace reveza::phi
