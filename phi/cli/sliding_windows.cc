#include "phi/cli/sliding_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "phi/arithmetic/parallel_for.h"

namespace reveza::phi {

Result<double> LegacyAtEnd(const SeriesView& series) {
  const int pairs = std::max(1, series.variables * (series.variables - 1));
  const std::int64_t cycles = (kLegacyRecords + pairs - 1) / pairs;
  const std::int64_t first = std::max<std::int64_t>(kLegacyMinStates, series.length - cycles + 1);
  LegacyPhi legacy;
  Result<double> value = legacy.Add(series.Part(0, std::min(first, series.length)));
  for (std::int64_t end = first + 1; value && end <= series.length; ++end) {
    value = legacy.Add(series.Part(0, end));
  }
  return value;
}

Result<std::vector<MeasuredWindow>> MeasureSliding(const SeriesTable& table,
                                                   const WindowOptions& options,
                                                   const SlidingOptions& sliding) {
  std::vector<MeasuredWindow> windows;
  for (std::size_t i = 0; i < table.trials.size(); ++i) {
    const std::int64_t end = i + 1 < table.trials.size() ? table.trials[i + 1] : table.length();
    for (std::int64_t first = table.trials[i]; first + sliding.length <= end;
         first += sliding.step) {
      windows.push_back({.first = first, .last = first + sliding.length - 1});
    }
  }
  if (windows.empty()) {
    return InvalidArgument(
        "no window of {} rows fits: there are {} rows{}", sliding.length, table.length(),
        table.trials.size() > 1 ? fmt::format(" in {} trials", table.trials.size()) : "");
  }
  const auto measure = [&](MeasuredWindow& window, SearchTables& tables) -> Status {
    const SeriesView view = table.View().Part(window.first, sliding.length);
    ASSIGN_OR_RETURN(window.values, MeasureWindow(view, options, &tables));
    if (sliding.legacy) {
      ASSIGN_OR_RETURN(window.legacy, LegacyAtEnd(view));
    }
    return {};
  };
  std::vector<Status> done(windows.size());
  ParallelFor(sliding.threads, windows.size(), [&] {
    return [&, tables = SearchTables()](std::size_t i) mutable {
      done[i] = measure(windows[i], tables);
    };
  });
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (done[i]) continue;
    return Fail(done[i].error().code, "rows {} to {}: {}", windows[i].first, windows[i].last,
                done[i].error().message);
  }
  return windows;
}

}  // namespace reveza::phi
