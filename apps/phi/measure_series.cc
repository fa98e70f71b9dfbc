#include "measure_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/together.h"
#include "phi/measures/estimate.h"

namespace reveza::phi {
namespace {

Status AddChance(std::span<const SeriesView> trials, const WindowOptions& options,
                 const ChanceOptions& chance, const std::vector<WindowValue>& measured,
                 WholeSeries& whole) {
  // The formulas are those of covariances that were not drawn anywhere.
  if (chance.bias && whole.shrinkage == 0.0) {
    const auto atomic = AtomicPartition(whole.model.variables());
    for (MeasuredValue& value : whole.values) {
      if (!value.value.partition && !atomic) continue;
      value.bias = BiasOf(whole.model, value.value.partition ? *value.value.partition : *atomic,
                          value.value.measure, whole.samples);
    }
  }
  if (chance.surrogates.count > 0) {
    const auto tests = TestAgainstSurrogates(trials, options, measured, chance.surrogates);
    if (!tests) return std::unexpected(tests.error());
    for (std::size_t i = 0; i < tests->size(); ++i) whole.values[i].significance = (*tests)[i];
  }
  if (chance.bootstrap.count > 0) {
    const auto intervals = BootstrapIntervals(trials, options, measured, chance.bootstrap);
    if (!intervals) return std::unexpected(intervals.error());
    for (std::size_t i = 0; i < intervals->size(); ++i) whole.values[i].interval = (*intervals)[i];
  }
  return {};
}

}  // namespace

Result<WholeSeries> MeasureWhole(const SeriesTable& table, const WindowOptions& options,
                                 const ChanceOptions& chance) {
  const std::vector<SeriesView> trials = table.Trials();
  auto estimate = EstimateModel(trials, options.estimate);
  if (!estimate) return std::unexpected(estimate.error());
  const auto measured = MeasureModel(estimate->model, options);
  if (!measured) return std::unexpected(measured.error());
  WholeSeries whole = {.model = std::move(estimate->model),
                       .values = {},
                       .samples = estimate->samples,
                       .shrinkage = estimate->shrinkage};
  for (const WindowValue& value : *measured) whole.values.push_back({.value = value});
  if (auto added = AddChance(trials, options, chance, *measured, whole); !added) {
    return std::unexpected(added.error());
  }
  return whole;
}

Result<double> LegacyAtEnd(const SeriesView& series) {
  const int pairs = std::max(1, series.variables * (series.variables - 1));
  const std::int64_t cycles = (kLegacyRecords + pairs - 1) / pairs;
  const std::int64_t first = std::max<std::int64_t>(kLegacyLeastStates, series.length - cycles + 1);
  LegacyPhi legacy;
  Result<double> value = legacy.Add(series.Part(0, std::min(first, series.length)));
  for (std::int64_t end = first + 1; value && end <= series.length; ++end) {
    value = legacy.Add(series.Part(0, end));
  }
  return value;
}

Result<std::vector<MeasuredWindow>> MeasureSliding(const SeriesTable& table,
                                                   const WindowOptions& options,
                                                   const Sliding& sliding) {
  std::vector<MeasuredWindow> windows;
  for (std::size_t i = 0; i < table.trials.size(); ++i) {
    const std::int64_t end = i + 1 < table.trials.size() ? table.trials[i + 1] : table.length();
    for (std::int64_t first = table.trials[i]; first + sliding.length <= end;
         first += sliding.step) {
      windows.push_back({.first = first, .last = first + sliding.length - 1});
    }
  }
  if (windows.empty()) {
    return Fail(
        Error::Code::kInvalidArgument,
        fmt::format(
            "no window of {} rows fits: there are {} rows{}", sliding.length, table.length(),
            table.trials.size() > 1 ? fmt::format(" in {} trials", table.trials.size()) : ""));
  }
  std::vector<std::optional<Error>> errors(windows.size());
  std::atomic<std::size_t> next = 0;
  Together(sliding.threads, [&](int, int) {
    SearchTables tables;
    for (std::size_t i = next++; i < windows.size(); i = next++) {
      const SeriesView view = table.View().Part(windows[i].first, sliding.length);
      auto measured = MeasureWindow(view, options, &tables);
      if (!measured) {
        errors[i] = measured.error();
        continue;
      }
      windows[i].values = std::move(measured->values);
      if (!sliding.legacy) continue;
      const auto legacy = LegacyAtEnd(view);
      if (!legacy) {
        errors[i] = legacy.error();
      } else {
        windows[i].legacy = *legacy;
      }
    }
  });
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::optional<Error>& error = errors[i];
    if (!error) continue;
    return Fail(error->code, fmt::format("rows {} to {}: {}", windows[i].first, windows[i].last,
                                         error->message));
  }
  return windows;
}

}  // namespace reveza::phi
