#include "fraudgen/check/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "fraudgen/check/data_set.h"
#include "fraudgen/check/origin.h"

namespace reveza::fraudgen::check {
namespace {

// Returns false if stopped.
Result<bool> CompareFiles(const DataSet& data, const Origin& origin, int threads,
                          const OnRows& on_rows, CheckResult& result) {
  const PreparedRun& run = *origin.run;
  const RunOptions options = run.Options(threads);
  Comparison comparison(data, *run.model, run.plan, options.table);
  ASSIGN_OR_RETURN(const auto done, origin.same == Origin::Same::kBytes
                                        ? comparison.CompareBytes(threads, on_rows)
                                        : comparison.CompareValues(threads, on_rows));
  if (!done) return false;
  comparison.Report(result.outcomes);
  result.files = comparison.TakeDifferences();
  return true;
}

}  // namespace

std::string SummaryOf(const CheckResult& result) {
  const std::size_t total = result.outcomes.size();
  const auto skipped = static_cast<std::size_t>(
      std::ranges::count(result.outcomes, Outcome::Verdict::kSkipped, &Outcome::verdict));
  std::string text = result.findings == 0
                         ? fmt::format("{} checks passed", total - skipped)
                         : fmt::format("{} of {} checks failed", result.findings, total - skipped);
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text;
}

Result<CheckResult> CheckData(const std::shared_ptr<Destination>& place, int threads,
                              const OnRows& on_rows) {
  CheckResult result;
  ASSIGN_OR_RETURN(auto data, OpenDataSet(place, result.outcomes));
  auto origin = FindOrigin(data, threads, [&](uint64_t, uint64_t) { return on_rows(0); });
  if (!origin && origin.error().code == Error::Code::kUnavailable) {
    result.stopped = true;
    return result;
  }
  if (!origin) return std::unexpected(origin.error());
  // Bytes that are compared need no hash.
  const bool bytes = origin->run && origin->same == Origin::Same::kBytes;
  RETURN_IF_ERROR(
      VerifyFiles(data, bytes ? Contents::kTrusted : Contents::kHashed, result.outcomes));
  result.outcomes.push_back(origin->outcome);
  if (origin->run) {
    ASSIGN_OR_RETURN(const auto done, CompareFiles(data, *origin, threads, on_rows, result));
    result.stopped = !done;
    if (result.stopped) return result;
  }
  result.findings = static_cast<uint64_t>(
      std::ranges::count(result.outcomes, Outcome::Verdict::kFailed, &Outcome::verdict));
  return result;
}

}  // namespace reveza::fraudgen::check
