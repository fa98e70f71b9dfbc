#include "reveza/jobs/report/step_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "reveza/jobs/definition/template.h"
#include "reveza/jobs/journal/step_listing.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::jobs {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 2> kCycleColumns = {"cycle", "at"};

double Seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// Guesses the parameters of a label such as "seed=57 model=small one", for lists without a
// StepListing. Labels without parameters are numbers.
ParameterPairs GuessParameters(std::string_view label) {
  ParameterPairs values;
  for (std::size_t begin = 0; begin < label.size();) {
    const std::size_t equals = label.find('=', begin);
    if (equals == label.npos || !IsIdentifier(label.substr(begin, equals - begin))) return {};
    // A value ends where the next name begins: it may have blanks.
    std::size_t end = label.size();
    for (std::size_t at = label.find(' ', equals); at != label.npos; at = label.find(' ', at + 1)) {
      const std::size_t next = label.find('=', at);
      if (next == label.npos) break;
      if (!IsIdentifier(label.substr(at + 1, next - at - 1))) continue;
      end = at;
      break;
    }
    values.emplace_back(label.substr(begin, equals - begin),
                        label.substr(equals + 1, end - equals - 1));
    begin = end + 1;
  }
  return values;
}

// Collects rows whose columns are not known in advance.
class TableBuilder {
 public:
  TableBuilder(std::span<const std::string_view> fixed, std::optional<StepListing> listing)
      : fixed_(fixed), listing_(std::move(listing)) {}

  // `index`: of the step in the list.
  void Begin(std::size_t index, std::string_view label) {
    Row& row = rows_.emplace_back();
    row.step = index + 1;
    if (has_commands()) row.command = listing_->CommandOf(index);
    for (const auto& [name, value] :
         listing_ ? listing_->ParametersOf(index, label) : GuessParameters(label)) {
      Set(parameters_, row.parameters, name, value);
    }
  }
  // In the order of the fixed columns.
  void Add(json value) { rows_.back().fixed.push_back(std::move(value)); }
  void AddMetric(const std::string& name, double value) {
    Set(metrics_, rows_.back().metrics, name, value);
  }

  StepTable Finish() && {
    StepTable table;
    table.columns.emplace_back("step");
    if (has_commands()) table.columns.emplace_back(kCommandColumn);
    for (const std::string& name : parameters_) AddColumn(table, name, "param.");
    table.columns.insert(table.columns.end(), fixed_.begin(), fixed_.end());
    for (const std::string& name : metrics_) AddColumn(table, name, "metric.");
    for (Row& row : rows_) {
      std::vector<json>& cells = table.rows.emplace_back();
      cells.emplace_back(row.step);
      if (has_commands()) cells.emplace_back(row.command);
      row.parameters.resize(parameters_.size());
      row.fixed.resize(fixed_.size());
      row.metrics.resize(metrics_.size());
      for (auto* part : {&row.parameters, &row.fixed, &row.metrics}) {
        std::ranges::move(*part, std::back_inserter(cells));
      }
    }
    return table;
  }

 private:
  struct Row {
    std::size_t step = 0;
    std::uint32_t command = 0;
    std::vector<json> parameters, fixed, metrics;
  };

  bool has_commands() const { return listing_ && listing_->HasSeveralCommands(); }

  static void Set(std::vector<std::string>& names, std::vector<json>& cells,
                  const std::string& name, json value) {
    const auto found = std::ranges::find(names, name);
    const auto index = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    if (cells.size() <= index) cells.resize(index + 1);
    cells[index] = std::move(value);
  }

  void AddColumn(StepTable& table, const std::string& name, std::string_view prefix) const {
    const bool taken = std::ranges::find(table.columns, name) != table.columns.end() ||
                       std::ranges::find(fixed_, name) != fixed_.end();
    table.columns.push_back(taken ? std::string(prefix) + name : name);
  }

  const std::span<const std::string_view> fixed_;
  const std::optional<StepListing> listing_;
  std::vector<std::string> parameters_, metrics_;
  std::vector<Row> rows_;
};

void AddAttempt(TableBuilder& builder, const AttemptEntry* last) {
  if (last == nullptr) return;
  const AttemptResult& result = last->result;
  builder.Add(ToText(result.outcome));
  builder.Add(result.code);
  builder.Add(Seconds(result.began));
  builder.Add(Seconds(result.ended - result.began - result.paused));
  builder.Add(Seconds(result.user_time + result.system_time));
  builder.Add(last->extra.peak.value_or(result.largest_resident));
}

}  // namespace

Result<StepTable> MakeStepTable(Journal& journal, std::span<const StepEntry> steps) {
  ASSIGN_OR_RETURN(const auto attempts, journal.AttemptsAfter(0));
  std::map<Identity, const AttemptEntry*> last;
  for (const AttemptEntry& attempt : attempts) {
    const AttemptEntry*& known = last[attempt.result.name.identity];
    if (known == nullptr || known->result.name.attempt <= attempt.result.name.attempt) {
      known = &attempt;
    }
  }
  ASSIGN_OR_RETURN(auto listing, StepListing::Read(journal, steps.size()));
  TableBuilder builder(kStepColumns, std::move(listing));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepEntry& step = steps[i];
    builder.Begin(i, step.label);
    // Without a runner, a step whose retry is undecided has failed.
    builder.Add(ToText(step.state == StepState::kUndecided ? StepState::kFailed : step.state));
    builder.Add(step.attempts);
    const auto found = last.find(step.identity);
    AddAttempt(builder, found == last.end() ? nullptr : found->second);
    ASSIGN_OR_RETURN(const auto cycles, journal.Cycles(step.identity));
    if (cycles.empty()) continue;
    for (const Metric& metric : MetricsOf(cycles.back())) {
      builder.AddMetric(metric.name, metric.value);
    }
  }
  return std::move(builder).Finish();
}

Result<StepTable> MakeCycleTable(Journal& journal, std::span<const StepEntry> steps) {
  ASSIGN_OR_RETURN(auto listing, StepListing::Read(journal, steps.size()));
  TableBuilder builder(kCycleColumns, std::move(listing));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ASSIGN_OR_RETURN(const auto cycles, journal.Cycles(steps[i].identity));
    for (const CycleResult& cycle : cycles) {
      builder.Begin(i, steps[i].label);
      builder.Add(cycle.number);
      builder.Add(Seconds(cycle.at));
      for (const Metric& metric : MetricsOf(cycle)) builder.AddMetric(metric.name, metric.value);
    }
  }
  return std::move(builder).Finish();
}

}  // namespace reveza::jobs
