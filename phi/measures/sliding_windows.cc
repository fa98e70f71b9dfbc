#include "phi/measures/sliding_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/legacy.h"

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

Result<std::vector<MeasuredWindow>> MeasureSliding(std::span<const SeriesView> trials,
                                                   const WindowOptions& options,
                                                   const SlidingOptions& sliding) {
  std::vector<MeasuredWindow> windows;
  std::vector<SeriesView> views;  // of the windows
  std::int64_t rows = 0;
  for (const SeriesView& trial : trials) {
    for (std::int64_t first = 0; first + sliding.length <= trial.length; first += sliding.step) {
      windows.push_back({.first = rows + first, .last = rows + first + sliding.length - 1});
      views.push_back(trial.Part(first, sliding.length));
    }
    rows += trial.length;
  }
  if (windows.empty()) {
    return InvalidArgument("no window of {} rows fits: there are {} rows{}", sliding.length, rows,
                           trials.size() > 1 ? fmt::format(" in {} trials", trials.size()) : "");
  }
  const auto measure = [&](std::size_t i) -> Status {
    ASSIGN_OR_RETURN(windows[i].values, MeasureWindow(views[i], options));
    if (sliding.legacy) {
      ASSIGN_OR_RETURN(windows[i].legacy, LegacyAtEnd(views[i]));
    }
    return {};
  };
  std::vector<Status> done(windows.size());
  ParallelFor(sliding.threads, windows.size(),
              [&] { return [&](std::size_t i) { done[i] = measure(i); }; });
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (done[i]) continue;
    return Fail(done[i].error().code, "rows {} to {}: {}", windows[i].first, windows[i].last,
                done[i].error().message);
  }
  return windows;
}

}  // namespace reveza::phi
