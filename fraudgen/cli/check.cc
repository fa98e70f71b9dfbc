// `fraudgen check PLACE`: validates a data set and prints one line per check.
#include "fraudgen/check/check.h"

#include <fmt/format.h>
#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "common/platform/stop_signals.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/terminal.h"

namespace reveza::fraudgen::cli {
namespace {

using check::CheckResult;
using check::Outcome;

// In JSON, part of the output format.
std::string_view NameOf(Outcome::Verdict verdict) {
  switch (verdict) {
    case Outcome::Verdict::kPassed:
      return "fine";
    case Outcome::Verdict::kFailed:
      return "WRONG";
    case Outcome::Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

void PrintJson(const CheckResult& result) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const Outcome& outcome : result.outcomes) {
    checks.push_back({{"verdict", NameOf(outcome.verdict)},
                      {"check", outcome.name},
                      {"detail", outcome.detail}});
  }
  const nlohmann::ordered_json all = {{"findings", result.findings}, {"checks", checks}};
  // Damaged files may contain invalid UTF-8.
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void PrintLines(const CheckResult& result, bool quiet) {
  for (const Outcome& outcome : result.outcomes) {
    if (quiet && outcome.verdict != Outcome::Verdict::kFailed) continue;
    fmt::print("{}  {:<68} {}\n", LabelOf(outcome.verdict), outcome.name, outcome.detail);
  }
  if (!quiet) fmt::print("{}\n", SummaryOf(result));
}

}  // namespace

int CheckData(const RunArguments& arguments, const std::string& place, const OnChecked& print) {
  platform::StopSignals signals;
  const auto check = [&](const std::shared_ptr<Destination>& destination) -> int {
    const auto result = [&] {
      const StatusLine status(arguments.quiet, "checking all rows");
      return check::CheckData(destination, [&](uint64_t) { return signals.Received() == 0; });
    }();
    if (!result) return ReportError(kUnreadable, result.error().message);
    if (result->stopped) {
      return ReportError(StatusOfSignal(signals.Received()),
                         "stopped before all rows were checked");
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
