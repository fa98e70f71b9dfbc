#include "phi/measures/significance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/random.h"

namespace reveza::phi {
namespace {

// Returns values by replicate and measure, not a number where one is missing, or the error of the
// first replicate that failed.
Result<std::vector<std::vector<double>>> Replicates(
    int count, int threads,
    const std::function<Result<std::vector<WindowValue>>(std::uint32_t replicate)>& measure) {
  std::vector<std::vector<double>> values(static_cast<std::size_t>(count));
  std::vector<std::optional<Error>> errors(values.size());
  ParallelFor(threads, values.size(), [&] {
    return [&](std::size_t i) {
      const auto result = measure(static_cast<std::uint32_t>(i));
      if (!result) {
        errors[i] = result.error();
        return;
      }
      for (const WindowValue& value : *result) values[i].push_back(value.value);
    };
  });
  for (const auto& error : errors) {
    if (error) return std::unexpected(*error);
  }
  return values;
}

std::vector<std::vector<int>> PartsToMove(const WindowOptions& options, int variables) {
  if (options.partition && !options.minimum) return options.partition->parts();
  std::vector<std::vector<int>> parts;
  for (int i = 0; i < variables; ++i) parts.push_back({i});
  return parts;
}

std::vector<double> Column(const std::vector<std::vector<double>>& rows, std::size_t column) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(row[column]);
  return values;
}

// Returns how many replicates have no value; "" if all have.
std::string MissingOf(std::span<const double> replicates, std::string_view name) {
  const auto missing =
      std::ranges::count_if(replicates, [](double x) { return !std::isfinite(x); });
  return missing == 0 ? ""
                      : fmt::format("{} of {} {} have no value", missing, replicates.size(), name);
}

}  // namespace

double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Significance SignificanceOf(double value, std::vector<double> surrogates) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Significance result{.surrogates = static_cast<int>(surrogates.size()),
                      .missing = MissingOf(surrogates, "surrogates")};
  if (!result.missing.empty()) {
    result.null_mean = result.null_high = result.p = kNone;
    return result;
  }
  std::ranges::sort(surrogates);
  const auto count = static_cast<double>(surrogates.size());
  for (const double one : surrogates) result.null_mean += one / count;
  result.null_high = Quantile(surrogates, 0.95);
  const auto above = surrogates.end() - std::ranges::lower_bound(surrogates, value);
  result.p = static_cast<double>(1 + above) / (1.0 + count);
  return result;
}

Interval IntervalOf(double value, std::vector<double> replicates, std::int64_t block) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Interval result{.low = kNone,
                  .high = kNone,
                  .replicates = static_cast<int>(replicates.size()),
                  .block = block,
                  .missing = MissingOf(replicates, "replicates")};
  if (!result.missing.empty()) return result;
  std::ranges::sort(replicates);
  result.low = 2 * value - Quantile(replicates, 0.975);
  result.high = 2 * value - Quantile(replicates, 0.025);
  return result;
}

std::vector<double> AdjustedP(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double least = 1.0;
  for (std::size_t rank = p.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    // The factor is 1 or more, so that no value is below its p.
    least = std::min(least, p[i] * (static_cast<double>(p.size()) / static_cast<double>(rank)));
    adjusted[i] = least;
  }
  return adjusted;
}

Result<std::vector<std::optional<Significance>>> TestAgainstSurrogates(
    std::span<const SeriesView> trials, const WindowOptions& options,
    std::span<const WindowValue> values, const SurrogateOptions& surrogates) {
  if (surrogates.count < 1 || trials.empty()) {
    return InvalidArgument("a test needs at least one surrogate");
  }
  RETURN_IF_ERROR(CheckSurrogates(trials, surrogates.kind));
  const auto parts = PartsToMove(options, trials.front().variables);
  ASSIGN_OR_RETURN(
      const auto drawn,
      Replicates(surrogates.count, surrogates.threads, [&](std::uint32_t replicate) {
        return MeasureWindow(
            SurrogateOf(trials, parts, surrogates.kind, surrogates.seed, replicate).views, options);
      }));
  std::vector<std::optional<Significance>> results;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].measure == Measure::kInformation || !values[i].missing.empty()) {
      results.emplace_back();
      continue;
    }
    results.emplace_back(SignificanceOf(values[i].value, Column(drawn, i)));
  }
  return results;
}

Result<std::vector<Interval>> BootstrapIntervals(std::span<const SeriesView> trials,
                                                 const WindowOptions& options,
                                                 std::span<const WindowValue> values,
                                                 const BootstrapOptions& bootstrap) {
  const int before = options.estimate.lag + options.estimate.order - 1;
  std::int64_t samples = 0;
  for (const SeriesView& view : trials) samples += std::max<std::int64_t>(0, view.length - before);
  std::int64_t block = bootstrap.block;
  if (block == 0) block = static_cast<std::int64_t>(std::ceil(std::cbrt(samples)));
  // First rows of the blocks that fit, by trial.
  std::vector<std::int64_t> starts;
  std::int64_t all = 0;
  for (const SeriesView& view : trials) {
    starts.push_back(all);
    all += std::max<std::int64_t>(0, view.length - before - block + 1);
  }
  if (bootstrap.count < 1 || block < 1 || all < 1) {
    return InvalidArgument("--block: {} pairs do not fit into {}; use a shorter block", block,
                           samples);
  }
  ASSIGN_OR_RETURN(const auto drawn,
                   Replicates(bootstrap.count, bootstrap.threads, [&](std::uint32_t replicate) {
                     const RandomStream random(bootstrap.seed, RandomPurpose::kBlock, replicate);
                     std::vector<SeriesView> blocks;
                     std::int64_t taken = 0;
                     for (std::uint64_t position = 0; taken < samples; ++position) {
                       const std::int64_t start = random.UniformInt(position, all);
                       const auto next = std::ranges::upper_bound(starts, start);
                       const auto trial = static_cast<std::size_t>(next - starts.begin() - 1);
                       const std::int64_t length = std::min(block, samples - taken);
                       blocks.push_back(trials[trial].Part(start - starts[trial], length + before));
                       taken += length;
                     }
                     return MeasureWindow(blocks, options);
                   }));
  std::vector<Interval> results;
  for (std::size_t i = 0; i < values.size(); ++i) {
    results.push_back(IntervalOf(values[i].value, Column(drawn, i), block));
  }
  return results;
}

}  // namespace reveza::phi
