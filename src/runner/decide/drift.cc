#include "runner/decide/drift.h"

#include <algorithm>
#include <cmath>

namespace reveza::runner {
namespace {

constexpr std::size_t kFewest = 12;
constexpr std::size_t kFewestOnASide = 5;
constexpr double kErrors = 4;
constexpr double kLeastShare = 0.05;  // of a step, that all of the drift makes
constexpr double kLeastChange = 0.1;  // of a step, that a sudden change makes
// Of what a level leaves unexplained, a change must leave at most so much, and less than a line.
constexpr double kExplains = 0.5;

struct Line {
  Drift drift;
  double rest = 0;  // sum of squares that it does not explain
};

Line FitLine(std::span<const TimedStep> steps) {
  const auto count = static_cast<double>(steps.size());
  double index = 0;
  double seconds = 0;
  for (const TimedStep& step : steps) {
    index += step.index / count;
    seconds += step.seconds / count;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (const TimedStep& step : steps) {
    const double x = step.index - index;
    const double y = step.seconds - seconds;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  Line line;
  line.drift.at = index;
  line.drift.level = seconds;
  line.rest = yy;
  if (xx <= 0) return line;
  line.drift.slope = xy / xx;
  line.rest = std::max(0.0, yy - xy * xy / xx);
  line.drift.error = std::sqrt(line.rest / (count - 2) / xx);
  return line;
}

struct Change {
  std::size_t from = 0;
  double rest = 0;
  double size = 0;
};

// The two levels that explain the most.
Change FitChange(std::span<const TimedStep> steps) {
  double sum = 0;
  double squares = 0;
  for (const TimedStep& step : steps) {
    sum += step.seconds;
    squares += step.seconds * step.seconds;
  }
  Change best{.from = 0, .rest = squares, .size = 0};
  double before = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    before += steps[i - 1].seconds;
    if (i < kFewestOnASide || i + kFewestOnASide > steps.size()) continue;
    const auto left = static_cast<double>(i);
    const auto right = static_cast<double>(steps.size() - i);
    const double after = sum - before;
    const double rest = std::max(0.0, squares - before * before / left - after * after / right);
    if (rest < best.rest) best = {i, rest, after / right - before / left};
  }
  return best;
}

}  // namespace

Trend FindTrend(std::span<const TimedStep> steps) {
  Trend trend;
  if (steps.size() < kFewest) return trend;
  const Line line = FitLine(steps);
  const Change change = FitChange(steps);
  const double level = std::abs(line.drift.level);
  const double span = steps.back().index - steps.front().index;
  double unexplained = 0;
  for (const TimedStep& step : steps) {
    unexplained += (step.seconds - line.drift.level) * (step.seconds - line.drift.level);
  }
  if (change.from > 0 && change.rest < line.rest && change.rest < kExplains * unexplained &&
      std::abs(change.size) > kLeastChange * level) {
    // What came after may drift by itself.
    trend = FindTrend(steps.subspan(change.from));
    trend.from += change.from;
    return trend;
  }
  const double slope = std::abs(line.drift.slope);
  if (slope > kErrors * line.drift.error && slope * span > kLeastShare * level) {
    trend.drift = line.drift;
  }
  return trend;
}

}  // namespace reveza::runner
