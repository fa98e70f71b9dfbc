#include "measure_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace reveza::phi {
namespace {

std::string PartitionText(const WindowValue& value, const Names& names) {
  return value.partition ? value.partition->Text(names) : "";
}

std::string SearchNote(const WindowValue& value) {
  if (value.examined == 0) return "";
  if (value.exact) return fmt::format("lowest of {}", value.examined);
  if (value.method == SearchMethod::kQueyranne) {
    return fmt::format("approximate, {} looked at", value.examined);
  }
  return fmt::format("lowest of {} that are lowest by si", value.examined);
}

// Nine digits behind the point, as the table of reference values has them; never "-0.000000000".
std::string Nats(double value) {
  return fmt::format("{:.9f}", std::abs(value) < 5e-10 ? 0.0 : value);
}

// Columns as wide as their widest cell; the last without blanks behind it.
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

// As a field of CSV: partitions have commas.
std::string Quoted(const std::string& text) {
  return text.find(',') == std::string::npos ? text : '"' + text + '"';
}

std::string NameList(const std::vector<int>& variables, const Names& names) {
  std::string text;
  for (const int variable : variables) {
    if (!text.empty()) text += ',';
    text += names[static_cast<std::size_t>(variable)];
  }
  return text;
}

Json JsonOf(const WindowValue& value, const Names& names) {
  Json json = {{"measure", NameOf(value.measure)}, {"nats", value.value}};
  if (value.partition) json["partition"] = value.partition->Text(names);
  if (value.examined > 0) {
    json["bipartitions_compared"] = value.examined;
    json["minimum_is_exact"] = value.exact;
  }
  return json;
}

Json RowsOf(const Matrix& matrix) {
  Json rows = Json::array();
  for (int i = 0; i < matrix.rows(); ++i) {
    rows.push_back(std::vector<double>(matrix.Row(i), matrix.Row(i) + matrix.columns()));
  }
  return rows;
}

}  // namespace

std::string TableOf(const std::vector<MeasuredValue>& values, const Names& names) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"measure", "nats", "", "", "", "", "partition", ""});
  for (const MeasuredValue& row : values) {
    auto& cells = rows.emplace_back();
    cells.emplace_back(NameOf(row.value.measure));
    cells.push_back(Nats(row.value.value));
    cells.push_back(row.bias ? fmt::format("{:.6f}", row.value.value - *row.bias) : "");
    cells.push_back(
        row.interval ? fmt::format("{:.4f} to {:.4f}", row.interval->low, row.interval->high) : "");
    cells.push_back(row.significance ? fmt::format("{:.4f}", row.significance->null_high) : "");
    cells.push_back(row.significance ? fmt::format("{:.4g}", row.significance->p) : "");
    cells.push_back(PartitionText(row.value, names));
    cells.push_back(SearchNote(row.value));
    if (row.bias) rows.front()[2] = "less bias";
    if (row.interval) rows.front()[3] = "95 % interval";
    if (row.significance) {
      rows.front()[4] = "95 % of null";
      rows.front()[5] = "p";
    }
  }
  return Aligned(rows);
}

Json JsonOf(const std::vector<MeasuredValue>& values, const Names& names) {
  Json rows = Json::array();
  for (const MeasuredValue& value : values) {
    Json row = JsonOf(value.value, names);
    if (value.bias) row["less_bias"] = value.value.value - *value.bias;
    if (value.interval) {
      row["interval"] = {{"low", value.interval->low},
                         {"high", value.interval->high},
                         {"replicates", value.interval->replicates},
                         {"block", value.interval->block}};
    }
    if (value.significance) {
      row["surrogates"] = {{"p", value.significance->p},
                           {"null_mean", value.significance->null_mean},
                           {"null_95_percent", value.significance->null_high},
                           {"count", value.significance->surrogates}};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string CsvOf(const std::vector<MeasuredValue>& values, const Names& names) {
  std::string text = "measure,nats,less_bias,low,high,null_95_percent,p,partition,exact\n";
  const auto optional = [](const auto& from, auto member) {
    return from ? fmt::format("{}", (*from).*member) : std::string();
  };
  for (const MeasuredValue& row : values) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{}\n", NameOf(row.value.measure), row.value.value,
                    row.bias ? fmt::format("{}", row.value.value - *row.bias) : "",
                    optional(row.interval, &Interval::low), optional(row.interval, &Interval::high),
                    optional(row.significance, &Significance::null_high),
                    optional(row.significance, &Significance::p),
                    Quoted(PartitionText(row.value, names)), row.value.exact ? "yes" : "no");
  }
  return text;
}

std::string CsvOf(const std::vector<MeasuredWindow>& windows, const Names& names) {
  std::string text = "window,first_row,last_row";
  if (!windows.empty()) {
    for (const WindowValue& value : windows.front().values) {
      text += fmt::format(",{}", NameOf(value.measure));
      if (value.partition) text += fmt::format(",{}_partition", NameOf(value.measure));
    }
    if (windows.front().legacy) text += ",mean_absolute_correlation";
  }
  text += '\n';
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const MeasuredWindow& window = windows[i];
    text += fmt::format("{},{},{}", i, window.first, window.last);
    for (const WindowValue& value : window.values) {
      text += fmt::format(",{}", value.value);
      if (value.partition) text += ',' + Quoted(PartitionText(value, names));
    }
    if (window.legacy) text += fmt::format(",{}", *window.legacy);
    text += '\n';
  }
  return text;
}

Json JsonOf(const std::vector<MeasuredWindow>& windows, const Names& names) {
  Json rows = Json::array();
  for (const MeasuredWindow& window : windows) {
    Json row = {{"first_row", window.first}, {"last_row", window.last}};
    Json values = Json::array();
    for (const WindowValue& value : window.values) values.push_back(JsonOf(value, names));
    row["measures"] = std::move(values);
    if (window.legacy) row["mean_absolute_correlation"] = *window.legacy;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string TextOf(const std::vector<Complex>& complexes, Measure measure, const Names& names) {
  std::vector<std::vector<std::string>> rows = {
      {"complex", fmt::format("{} at its minimum", NameOf(measure)), ""}};
  for (const Complex& one : complexes) {
    rows.push_back({NameList(one.variables, names), Nats(one.value), one.main ? "main" : ""});
  }
  return Aligned(rows);
}

Json JsonOf(const std::vector<Complex>& complexes, const Names& names) {
  Json rows = Json::array();
  for (const Complex& one : complexes) {
    Json variables = Json::array();
    for (const int variable : one.variables) {
      variables.push_back(names[static_cast<std::size_t>(variable)]);
    }
    rows.push_back({{"variables", variables}, {"nats", one.value}, {"main", one.main}});
  }
  return rows;
}

std::string TextOf(const Granger& granger, const Names& names) {
  std::vector<std::vector<std::string>> rows = {
      {"from", "to", "granger, nats", "transfer entropy, nats", granger.p ? "p" : ""}};
  for (int from = 0; from < granger.causality.rows(); ++from) {
    for (int to = 0; to < granger.causality.columns(); ++to) {
      if (from == to) continue;
      const double value = granger.causality(from, to);
      rows.push_back({names[static_cast<std::size_t>(from)], names[static_cast<std::size_t>(to)],
                      Nats(value), Nats(TransferEntropyOf(value)),
                      granger.p ? fmt::format("{:.3g}", (*granger.p)(from, to)) : ""});
    }
  }
  return Aligned(rows);
}

Json JsonOf(const Granger& granger, const Names& names) {
  Json json = {{"rows_from_columns_to", names}, {"nats", RowsOf(granger.causality)}};
  if (granger.p) json["p"] = RowsOf(*granger.p);
  return json;
}

}  // namespace reveza::phi
