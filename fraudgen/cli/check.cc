// `fraudgen check PLACE`: validates a data set, and prints one line per check and the differences.
#include "fraudgen/check/check.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "common/platform/stop_signals.h"
#include "fraudgen/check/sql_rules.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/terminal.h"
#include "fraudgen/run/prepare.h"

namespace reveza::fraudgen::cli {
namespace {

using check::CheckResult;
using check::Outcome;

// In JSON, part of the output format.
std::string_view NameOf(Outcome::Verdict verdict) {
  switch (verdict) {
    case Outcome::Verdict::kPassed:
      return "passed";
    case Outcome::Verdict::kFailed:
      return "failed";
    case Outcome::Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

nlohmann::ordered_json JsonOf(const check::FileDifferences& file) {
  nlohmann::ordered_json first = nlohmann::ordered_json::array();
  for (const check::Difference& difference : file.first) {
    first.push_back({{"row", difference.row},
                     {"column", difference.column},
                     {"found", difference.found},
                     {"expected", difference.expected}});
  }
  return {{"file", file.file},
          {"table", file.table},
          {"count", file.count},
          {"first", std::move(first)}};
}

void PrintJson(const CheckResult& result) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const Outcome& outcome : result.outcomes) {
    checks.push_back(
        {{"verdict", NameOf(outcome.verdict)}, {"name", outcome.name}, {"detail", outcome.detail}});
  }
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const check::FileDifferences& file : result.files) files.push_back(JsonOf(file));
  const nlohmann::ordered_json all = {
      {"findings", result.findings}, {"checks", std::move(checks)}, {"files", std::move(files)}};
  // Damaged files may contain invalid UTF-8.
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void PrintLines(const CheckResult& result, bool quiet) {
  for (const Outcome& outcome : result.outcomes) {
    if (quiet && outcome.verdict != Outcome::Verdict::kFailed) continue;
    fmt::print("{}  {:<60} {}\n", LabelOf(outcome.verdict), outcome.name, outcome.detail);
  }
  constexpr std::size_t kMaxFiles = 20;
  for (const check::FileDifferences& file :
       std::span(result.files).first(std::min(kMaxFiles, result.files.size()))) {
    fmt::print("{}: {} difference{}\n", file.file, file.count, file.count == 1 ? "" : "s");
    for (const check::Difference& difference : file.first) {
      fmt::print("  {}\n", TextOf(difference));
    }
    if (file.count > file.first.size())
      fmt::print("  and {} more\n", file.count - file.first.size());
  }
  if (result.files.size() > kMaxFiles) {
    fmt::print("and {} more files; --json lists all\n", result.files.size() - kMaxFiles);
  }
  if (!quiet) fmt::print("{}\n", SummaryOf(result));
}

}  // namespace

int ShowSqlRules(const RunArguments& arguments) {
  constexpr uint64_t kAnyRows = 1'000;
  const auto model = MakeModel(arguments.settings, kAnyRows);
  if (!model) return ReportError(model.error());
  fmt::print("{}", check::SqlRules(arguments.settings, **model));
  return kDone;
}

int CheckData(const RunArguments& arguments, const std::string& place, const OnChecked& print) {
  platform::StopSignals signals;
  const auto check = [&](const std::shared_ptr<Destination>& destination) -> int {
    const auto result = [&] {
      const StatusLine status(arguments.quiet, "making all rows again");
      return check::CheckData(destination, arguments.threads,
                              [&](uint64_t) { return signals.Received() == 0; });
    }();
    if (!result) return ReportError(kUnreadable, result.error().message);
    if (result->stopped) {
      return ReportError(StatusOfSignal(signals.Received()),
                         "stopped before all rows were compared");
    }
    print(*result);
    return result->findings == 0 ? kDone : kFindings;
  };
  return WithPlace(arguments, place, check);
}

int CheckData(const RunArguments& arguments, const std::string& place) {
  return CheckData(arguments, place, [&](const CheckResult& result) {
    if (arguments.json) {
      PrintJson(result);
    } else {
      PrintLines(result, arguments.quiet);
    }
  });
}

}  // namespace reveza::fraudgen::cli
