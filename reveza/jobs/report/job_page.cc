#include "reveza/jobs/report/job_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/units.h"
#include "reveza/jobs/report/charts.h"

namespace reveza::jobs {
namespace {

using nlohmann::json;
using Row = std::vector<json>;

// No scripts, nothing from elsewhere; only the styles of the page itself.
constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
)";

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark; --ink: #1d232b; --soft: #66717f; --line: #dde2e8; --back: #fff;
  --good: #3b7d4f; --bad: #c0392b; --other: #c8932a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ed; --soft: #98a4b3; --line: #333c47;
  --back: #14181d; --good: #62b57c; --bad: #ef7060; --other: #e0b354; } }
body { margin: 2rem auto; max-width: 1120px; padding: 0 1rem; color: var(--ink);
  background: var(--back); font: 15px/1.5 system-ui, sans-serif; }
h1 { overflow-wrap: anywhere; margin: 0; }
h2 { margin: 2rem 0 0.5rem; }
p { margin: 0.3rem 0; color: var(--soft); }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font-size: 12px; }
svg { width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--soft); }
svg text.end { text-anchor: end; }
svg text.middle { text-anchor: middle; }
svg text.name { fill: var(--ink); }
svg .grid { stroke: var(--line); }
svg rect { fill: var(--other); }
svg rect.done, .key.done { fill: var(--good); background: var(--good); }
svg rect.failed, .key.failed { fill: var(--bad); background: var(--bad); }
.key { display: inline-block; width: 0.7em; height: 0.7em; background: var(--other); }
svg circle { fill: var(--good); fill-opacity: 0.6; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 1rem; }
figure { margin: 0; }
figcaption { font-size: 13px; }
</style>
)";

std::string TextOf(const json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float()) return fmt::format("{:.6g}", cell.get<double>());
  return cell.dump();
}

// Numbers that a picture can show.
std::optional<double> NumberOf(const json& cell) {
  constexpr double kMax = 1e150;
  double value = 0;
  if (cell.is_number()) {
    value = cell.get<double>();
  } else if (cell.is_string()) {
    const auto& text = cell.get_ref<const std::string&>();
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return std::abs(value) < kMax ? std::optional(value) : std::nullopt;
}

// The table with its columns by purpose: the step, parameters, kStepColumns, metrics.
class JobTable {
 public:
  explicit JobTable(const StepTable& table) : table_(table) {
    const auto fixed = std::ranges::search(table.columns, kStepColumns);
    first_fixed_ = static_cast<std::size_t>(fixed.begin() - table.columns.begin());
  }

  const std::vector<Row>& rows() const { return table_.rows; }
  const std::vector<std::string>& columns() const { return table_.columns; }
  // Indexes of columns.
  std::vector<std::size_t> Parameters() const { return Range(1, first_fixed_); }
  std::vector<std::size_t> Metrics() const {
    return Range(first_fixed_ + kStepColumns.size(), table_.columns.size());
  }
  std::size_t Fixed(std::string_view name) const {
    return first_fixed_ +
           static_cast<std::size_t>(std::ranges::find(kStepColumns, name) - kStepColumns.begin());
  }
  const json& At(const Row& row, std::string_view name) const {
    static const json kNothing;
    const std::size_t column = Fixed(name);
    return column < row.size() ? row[column] : kNothing;
  }
  // Returns "57 seed=57".
  std::string LabelOf(const Row& row) const {
    std::string label = TextOf(row.front());
    for (const std::size_t column : Parameters()) {
      if (row[column].is_null()) continue;
      label += fmt::format(" {}={}", table_.columns[column], TextOf(row[column]));
    }
    return label;
  }

 private:
  static std::vector<std::size_t> Range(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> columns;
    for (std::size_t i = begin; i < end; ++i) columns.push_back(i);
    return columns;
  }

  const StepTable& table_;
  std::size_t first_fixed_ = 0;
};

bool HasFailed(const JobTable& table, const Row& row) {
  const json& state = table.At(row, "state");
  return state == "failed" || state == "unknown";
}

void AppendSummary(const JobPageInput& input, const JobTable& table, std::string& page) {
  std::map<std::string, std::size_t> states;
  double begin = 0;
  double end = 0;
  double cpu = 0;
  for (const Row& row : table.rows()) {
    ++states[TextOf(table.At(row, "state"))];
    cpu += NumberOf(table.At(row, "cpu_seconds")).value_or(0);
    const auto began = NumberOf(table.At(row, "began"));
    const auto seconds = NumberOf(table.At(row, "seconds"));
    if (!began || !seconds) continue;
    begin = end == 0 ? *began : std::min(begin, *began);
    end = std::max(end, *began + *seconds);
  }
  std::string counts;
  for (const auto& [state, count] : states) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", FormatCount(count), state);
  }
  page += fmt::format(
      "<title>{0}</title>\n{1}</head>\n<body>\n<h1>{0}</h1>\n"
      "<p>{2}: {3}. {4} from the first start to the last end, {5} of processor time.</p>\n"
      "<p>Made by reveza jobs report, {6}{7}.</p>\n",
      EscapeHtml(input.id), kStyle, Plural(table.rows().size(), "step"), EscapeHtml(counts),
      FormatSeconds(end - begin), FormatSeconds(cpu), EscapeHtml(input.now),
      input.running ? ", while the job runs" : "");
}

void AppendTimeLine(const JobTable& table, std::string& page) {
  std::vector<Span> spans;
  for (const Row& row : table.rows()) {
    const auto began = NumberOf(table.At(row, "began"));
    const auto seconds = NumberOf(table.At(row, "seconds"));
    if (!began || !seconds) continue;
    const std::string outcome = TextOf(table.At(row, "outcome"));
    const bool good = outcome == "done";
    spans.push_back({*began, *began + std::max(*seconds, 0.0),
                     good                    ? "done"
                     : HasFailed(table, row) ? "failed"
                                             : outcome,
                     table.LabelOf(row)});
  }
  if (spans.empty()) return;
  std::size_t lanes = 0;
  const std::string picture = TimeLine(std::move(spans), lanes);
  page += fmt::format(
      "<h2>Time line</h2>\n<p>The last attempt of each step; {} ran at once at most{}. "
      "<span class=\"key done\"></span> done <span class=\"key failed\"></span> failed "
      "<span class=\"key\"></span> other</p>\n{}",
      Plural(lanes, "step"),
      lanes > kMaxLanes ? fmt::format(", of which {} are drawn", kMaxLanes) : "", picture);
}

void AppendFailures(const JobPageInput& input, const JobTable& table, std::string& page) {
  std::map<std::size_t, std::string_view> outputs;
  for (const FailureOutput& output : input.outputs) outputs[output.step] = output.last_lines;
  const auto failed =
      std::ranges::count_if(table.rows(), [&](const Row& row) { return HasFailed(table, row); });
  if (failed == 0) return;
  page += fmt::format("<h2>Failures</h2>\n<p>{}{}</p>\n<div class=\"wide\"><table>\n",
                      Plural(static_cast<std::size_t>(failed), "step"),
                      static_cast<std::size_t>(failed) > kMaxPageFailures
                          ? fmt::format("; the first {} are shown", kMaxPageFailures)
                          : "");
  page += "<tr><th>Step</th><th>Outcome</th><th>Attempts</th><th>Time</th><th>Errors</th></tr>\n";
  std::size_t shown = 0;
  for (const Row& row : table.rows()) {
    if (!HasFailed(table, row) || shown++ >= kMaxPageFailures) continue;
    const std::string code = TextOf(table.At(row, "code"));
    page += fmt::format(
        "<tr><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td><pre>{}</pre></td></tr>\n",
        EscapeHtml(table.LabelOf(row)), EscapeHtml(TextOf(table.At(row, "outcome"))),
        code.empty() ? "" : ", code " + EscapeHtml(code),
        EscapeHtml(TextOf(table.At(row, "attempts"))),
        FormatSeconds(NumberOf(table.At(row, "seconds")).value_or(0)),
        EscapeHtml(outputs[row.front().get<std::size_t>()]));
  }
  page += "</table></div>\n";
}

struct Plot {
  std::vector<Point> points;
  std::vector<std::string> categories;  // empty: numbers
  bool varies = false;                  // the parameter has more than one value
};

// Parameters of which one value is no number are categories, in the order of their first
// appearance; too many of them, such as the names of files, show nothing.
Plot PlotOf(const JobTable& table, std::size_t parameter, std::size_t value, double unit) {
  Plot plot;
  const bool numbers = std::ranges::all_of(table.rows(), [&](const Row& row) {
    return row[parameter].is_null() || NumberOf(row[parameter]).has_value();
  });
  constexpr std::size_t kMaxCategories = 50;
  std::map<std::string, std::size_t> categories;
  std::set<double> seen;
  for (const Row& row : table.rows()) {
    const auto y = NumberOf(row[value]);
    if (!y || row[parameter].is_null()) continue;
    double x = 0;
    if (numbers) {
      x = *NumberOf(row[parameter]);
    } else {
      const std::string name = TextOf(row[parameter]);
      const auto [known, added] = categories.try_emplace(name, categories.size());
      if (added) plot.categories.push_back(name);
      if (categories.size() > kMaxCategories) return {};
      x = static_cast<double>(known->second);
    }
    if (seen.size() < 2) seen.insert(x);
    plot.points.push_back({x, *y / unit, fmt::format("{}: {:.6g}", table.LabelOf(row), *y / unit)});
  }
  plot.varies = seen.size() > 1;
  if (plot.points.size() > kMaxPoints) {
    std::vector<Point> kept;
    for (std::size_t i = 0; i < kMaxPoints; ++i) {
      kept.push_back(std::move(plot.points[i * plot.points.size() / kMaxPoints]));
    }
    plot.points = std::move(kept);
  }
  return plot;
}

void AppendPlots(const JobTable& table, std::string& page) {
  constexpr std::size_t kMaxPlots = 60;
  struct Value {
    std::size_t column;
    std::string name;
    double unit = 1;
  };
  std::vector<Value> values;
  for (const std::size_t column : table.Metrics()) {
    values.push_back({column, table.columns()[column]});
  }
  values.push_back({table.Fixed("seconds"), "seconds"});
  values.push_back({table.Fixed("peak"), "peak memory, MiB", static_cast<double>(kMiB)});
  std::string plots;
  std::size_t count = 0;
  for (const Value& value : values) {
    for (const std::size_t parameter : table.Parameters()) {
      const Plot plot = PlotOf(table, parameter, value.column, value.unit);
      if (!plot.varies || ++count > kMaxPlots) continue;
      const std::string& name = table.columns()[parameter];
      plots += fmt::format("<figure><figcaption>{} over {}</figcaption>\n{}</figure>\n",
                           EscapeHtml(value.name), EscapeHtml(name),
                           Scatter(plot.points, plot.categories, name, value.name));
    }
  }
  if (count == 0) return;
  page += fmt::format(
      "<h2>Metrics over parameters</h2>\n<p>The last cycle of each step, its seconds and its peak "
      "memory{}{}.</p>\n<div class=\"plots\">\n{}</div>\n",
      table.rows().size() > kMaxPoints
          ? fmt::format("; of more than {0} points {0} are drawn", kMaxPoints)
          : "",
      count > kMaxPlots ? fmt::format("; the first {} of {} pictures", kMaxPlots, count) : "",
      plots);
}

void AppendSteps(const JobTable& table, std::string& page) {
  page += fmt::format(
      "<h2>Steps</h2>\n<details><summary>{}</summary>\n<div class=\"wide\"><table>\n<tr>",
      table.rows().size() > kMaxPageSteps
          ? fmt::format("The first {} of {}; reveza jobs table has all", kMaxPageSteps,
                        table.rows().size())
          : Plural(table.rows().size(), "step"));
  for (const std::string& column : table.columns()) {
    page += fmt::format("<th>{}</th>", EscapeHtml(column));
  }
  page += "</tr>\n";
  for (std::size_t i = 0; i < std::min(table.rows().size(), kMaxPageSteps); ++i) {
    page += "<tr>";
    for (const json& cell : table.rows()[i]) {
      page += fmt::format("<td>{}</td>", EscapeHtml(TextOf(cell)));
    }
    page += "</tr>\n";
  }
  page += "</table></div></details>\n";
}

}  // namespace

std::string JobPage(const JobPageInput& input) {
  const JobTable table(input.steps);
  std::string page(kHead);
  AppendSummary(input, table, page);
  AppendTimeLine(table, page);
  AppendFailures(input, table, page);
  AppendPlots(table, page);
  AppendSteps(table, page);
  return page + "</body>\n</html>\n";
}

}  // namespace reveza::jobs
