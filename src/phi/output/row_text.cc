#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "phi/output/rows.h"

namespace reveza::phi {
namespace {

void AppendCsvRow(const RowLayout& layout, const RowBlock& rows, std::size_t i, std::string& to) {
  auto out = std::back_inserter(to);
  fmt::format_to(out, "{},{},{:016x}", rows.run[i], rows.cycle[i], rows.hash[i]);
  for (std::size_t k = 0; k < layout.states.size(); ++k) {
    fmt::format_to(out, ",{}", rows.states[i * layout.states.size() + k]);
  }
  for (std::size_t k = 0; k < layout.measures.size(); ++k) {
    const double value = rows.measures[i * layout.measures.size() + k];
    to.push_back(',');
    if (!std::isnan(value)) fmt::format_to(out, "{}", value);
  }
  to.push_back('\n');
}

void AppendJsonRow(const RowLayout& layout, const RowBlock& rows, std::size_t i, std::string& to) {
  auto out = std::back_inserter(to);
  fmt::format_to(out, R"({{"run":{},"cycle":{},"hash":"{:016x}")", rows.run[i], rows.cycle[i],
                 rows.hash[i]);
  for (std::size_t k = 0; k < layout.states.size(); ++k) {
    fmt::format_to(out, R"(,"{}":{})", layout.states[k], rows.states[i * layout.states.size() + k]);
  }
  for (std::size_t k = 0; k < layout.measures.size(); ++k) {
    const double value = rows.measures[i * layout.measures.size() + k];
    if (std::isnan(value)) {
      fmt::format_to(out, R"(,"{}":null)", layout.measures[k]);
    } else {
      fmt::format_to(out, R"(,"{}":{})", layout.measures[k], value);
    }
  }
  to.append("}\n");
}

}  // namespace

std::string HeadingOf(RowFormat format, const RowLayout& layout) {
  if (format != RowFormat::kCsv) return "";
  std::string heading = "run,cycle,hash";
  for (const std::string& name : layout.states) heading += "," + name;
  for (const std::string& name : layout.measures) heading += "," + name;
  return heading + "\n";
}

void AppendText(RowFormat format, const RowLayout& layout, const RowBlock& rows, std::string& to) {
  for (std::size_t i = 0; i < rows.run.size(); ++i) {
    if (format == RowFormat::kCsv) {
      AppendCsvRow(layout, rows, i, to);
    } else {
      AppendJsonRow(layout, rows, i, to);
    }
  }
}

}  // namespace reveza::phi
