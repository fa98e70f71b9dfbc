// `fraudgen check PLACE`: one line for each thing that a data set should have.
#include "datagen/check/check.h"

#include <fmt/format.h>
#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "commands.h"
#include "datagen/output/object_store.h"
#include "datagen/run/bucket.h"
#include "datagen/run/folder.h"
#include "exit_status.h"
#include "platform/stop_signals.h"
#include "progress_display.h"

namespace reveza::fraudgen {
namespace {

using datagen::check::CheckResult;
using datagen::check::Outcome;

std::string_view WordOf(Outcome::Verdict verdict) {
  switch (verdict) {
    case Outcome::Verdict::kFine:
      return "fine";
    case Outcome::Verdict::kFinding:
      return "WRONG";
    case Outcome::Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

void PrintJson(const CheckResult& result) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const Outcome& outcome : result.outcomes) {
    checks.push_back({{"verdict", WordOf(outcome.verdict)},
                      {"check", outcome.name},
                      {"detail", outcome.detail}});
  }
  const nlohmann::ordered_json all = {{"findings", result.findings}, {"checks", checks}};
  // Damaged files may hold what is no UTF-8.
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void PrintLines(const CheckResult& result, bool quiet) {
  for (const Outcome& outcome : result.outcomes) {
    if (quiet && outcome.verdict != Outcome::Verdict::kFinding) continue;
    fmt::print("{:<8}{:<68} {}\n", WordOf(outcome.verdict), outcome.name, outcome.detail);
  }
  if (quiet) return;
  fmt::print("{} checks, {}\n", result.outcomes.size(),
             result.findings == 0 ? "all fine" : fmt::format("{} wrong", result.findings));
}

int CheckPlace(const RunArguments& arguments, const std::shared_ptr<datagen::Destination>& place,
               platform::StopSignals& signals) {
  const auto result = [&] {
    const Moments checking(arguments.quiet, "looking at every row");
    return datagen::check::CheckData(place, [&](uint64_t) { return signals.Came() == 0; });
  }();
  if (!result) return Say(kUnreadable, result.error().message);
  if (result->stopped) {
    return Say(signals.Came() == SIGTERM ? kTerminated : kInterrupted,
               "stopped before all rows were looked at");
  }
  if (arguments.json) {
    PrintJson(*result);
  } else {
    PrintLines(*result, arguments.quiet);
  }
  return result->findings == 0 ? kDone : kFindings;
}

int CheckBucket(const RunArguments& arguments, const std::string& url) {
  const auto address =
      datagen::ParseStoreAddress(url, arguments.store, datagen::ProcessEnvironment);
  if (!address) return Say(address.error());
  platform::StopSignals signals;
  // Ends what it began on every way out of here.
  const auto session = datagen::StoreSession::Begin(*address);
  if (!session) return Say(session.error());
  const auto store = (*session)->Connect(*address, {});
  if (!store) return Say(store.error());
  return CheckPlace(arguments, std::make_shared<datagen::Bucket>(**store, *address), signals);
}

}  // namespace

int CheckData(const RunArguments& arguments, const std::string& place) {
  if (datagen::IsStoreUrl(place)) return CheckBucket(arguments, place);
  if (!(arguments.store == datagen::StoreFlags())) {
    return Say(kUsage, "--s3-... and --minio-... are for s3://bucket/prefix");
  }
  platform::StopSignals signals;
  return CheckPlace(arguments, std::make_shared<datagen::Folder>(place), signals);
}

}  // namespace reveza::fraudgen
