#include "phi/measures/sliding_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/legacy.h"

namespace reveza::phi {

namespace {

// Returns kInvalidArgument if a value of a window, whose first row is `first`, is not finite.
Status CheckComplete(const SeriesView& window, std::int64_t first,
                     const std::vector<std::string>& names) {
  for (std::int64_t t = 0; t < window.length; ++t) {
    for (int i = 0; i < window.variables; ++i) {
      if (std::isfinite(window.Row(t)[i])) continue;
      return InvalidArgument("row {} of {} is {}", first + t, VariableName(names, i),
                             window.Row(t)[i]);
    }
  }
  return {};
}

}  // namespace

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
    RETURN_IF_ERROR(CheckComplete(views[i], windows[i].first, options.estimate.names));
    ASSIGN_OR_RETURN(windows[i].values, MeasureWindow(views[i], options));
    if (sliding.legacy) {
      ASSIGN_OR_RETURN(windows[i].legacy, LegacyAtEnd(views[i]));
    }
    return {};
  };
  std::vector<Status> done(windows.size());
  ParallelFor(sliding.threads, windows.size(),
              [&] { return [&](std::size_t i) { done[i] = measure(i); }; });
  if (std::ranges::none_of(done, [](const Status& status) { return status.has_value(); })) {
    return Fail(done.front().error().code, "rows {} to {}: {}", windows.front().first,
                windows.front().last, done.front().error().message);
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (done[i]) continue;
    windows[i].values.clear();
    for (const Measure wanted : options.measures) {
      windows[i].values.push_back(MissingValue(wanted, done[i].error().message));
    }
  }
  return windows;
}

}  // namespace reveza::phi
