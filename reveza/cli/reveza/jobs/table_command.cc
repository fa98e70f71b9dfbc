// `reveza jobs table` and `compare`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json_text.h"
#include "common/base/units.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/insight/monitor/json_view.h"
#include "reveza/jobs/report/compare_tables.h"
#include "reveza/jobs/report/parquet_table.h"
#include "reveza/jobs/report/progress_text.h"
#include "reveza/jobs/report/step_table.h"

namespace reveza::cli {
namespace {

using nlohmann::json;

std::string CellText(const json& cell, bool exact) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float() && !exact) return fmt::format("{:.6g}", cell.get<double>());
  return cell.dump();
}

void PrintCsv(const jobs::StepTable& table) {
  const auto print = [](const std::vector<std::string>& cells) {
    std::string line;
    for (const std::string& cell : cells) {
      if (&cell != cells.data()) line += ',';
      line += monitor::QuoteCsv(cell);
    }
    fmt::print("{}\n", line);
  };
  print(table.columns);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const json& cell : row) cells.push_back(CellText(cell, /*exact=*/true));
    print(cells);
  }
}

void PrintJson(const jobs::StepTable& table) {
  json all = json::array();
  for (const auto& row : table.rows) {
    json object = json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i]] = row[i];
    all.push_back(std::move(object));
  }
  fmt::print("{}\n", JsonText(all, 2));
}

void PrintText(const jobs::StepTable& table) {
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& column : table.columns) lines[0].push_back(jobs::EscapeControls(column));
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (const json& cell : row) {
      line.push_back(jobs::EscapeControls(CellText(cell, /*exact=*/false)));
    }
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], jobs::Width(line[i]));
    }
  }
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += (i == 0 ? "" : "  ") + line[i];
      text.append(widths[i] - jobs::Width(line[i]), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  }
}

Result<jobs::StepTable> ReadTable(const std::string& job, bool cycles) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(job));
  ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto steps, journal.List());
  return cycles ? jobs::MakeCycleTable(journal, steps) : jobs::MakeStepTable(journal, steps);
}

int PrintTable(const jobs::StepTable& table, const JobsArguments& arguments) {
  if (arguments.csv) {
    PrintCsv(table);
  } else if (arguments.json) {
    PrintJson(table);
  } else {
    PrintText(table);
  }
  return std::fflush(stdout) == 0 ? kDone : kOutput;
}

}  // namespace

Result<int> TableOfJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto table, ReadTable(arguments.job, arguments.cycles));
  if (!arguments.parquet) return PrintTable(table, arguments);
  if (isatty(STDOUT_FILENO) != 0) {
    return InvalidArgument("--parquet writes a binary file: redirect it, e.g. > {}.parquet",
                           arguments.job);
  }
  const std::string file = jobs::ParquetFile(table);
  std::fwrite(file.data(), 1, file.size(), stdout);
  return std::fflush(stdout) == 0 ? kDone : kOutput;
}

Result<int> CompareJobs(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto a, ReadTable(arguments.job, /*cycles=*/false));
  ASSIGN_OR_RETURN(const auto b, ReadTable(arguments.other_job, /*cycles=*/false));
  jobs::TableComparison compared = jobs::CompareTables(a, b);
  if (arguments.csv || arguments.json) return PrintTable(compared.steps, arguments);
  if (!compared.summary.rows.empty()) {
    compared.summary.columns = {"MEAN", arguments.job, arguments.other_job, "CHANGE %"};
    PrintText(compared.summary);
    fmt::print("\n");
  }
  fmt::print("{} done in both; {} only in {}, {} only in {}\n",
             Plural(compared.done_in_both, "step"), compared.done_only_in_a, arguments.job,
             compared.done_only_in_b, arguments.other_job);
  return std::fflush(stdout) == 0 ? kDone : kOutput;
}

}  // namespace reveza::cli
