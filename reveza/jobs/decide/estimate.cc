#include "reveza/jobs/decide/estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <random>

namespace reveza::jobs {
namespace {

constexpr std::size_t kMaxSamples = 256;
constexpr std::size_t kMinComparable = 12;         // steps with the same number of workers
constexpr std::uint64_t kMinFinished = 3;          // steps, for any estimate
constexpr std::uint64_t kMaxSimulatedSteps = 200;  // individually; earlier ones as a sum
constexpr std::size_t kSimulations = 41;           // an odd number
constexpr std::size_t kMedianIndex = 20;           // of the sorted simulations
constexpr std::size_t kP90Index = 36;
constexpr std::size_t kBatches = 8;
constexpr std::size_t kMinBatchSize = 4;
constexpr double kOverdueShare = 0.1;  // remaining share of a step older than any sample

// Returns the variance between batches of consecutive steps in excess of chance: the machine has
// fast and slow periods.
double VarianceBetween(std::span<const double> values, double deviation) {
  const std::size_t each = values.size() / kBatches;
  if (each < kMinBatchSize) return 0;
  std::vector<double> means;
  for (std::size_t i = 0; i < kBatches; ++i) {
    const auto batch = values.subspan(i * each, each);
    means.push_back(std::accumulate(batch.begin(), batch.end(), 0.0) / static_cast<double>(each));
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / kBatches;
  double variance = 0;
  for (const double one : means) variance += (one - mean) * (one - mean) / (kBatches - 1);
  return std::max(0.0, variance - deviation * deviation / static_cast<double>(each));
}

std::chrono::nanoseconds Nanoseconds(double seconds) {
  constexpr double kMaxSeconds = 100.0 * 365 * 24 * 3600;
  return std::chrono::nanoseconds(std::llround(std::clamp(seconds, 0.0, kMaxSeconds) * 1e9));
}

constexpr std::size_t kMinTrendSteps = 12;
constexpr std::size_t kMinStepsPerSide = 5;
constexpr double kMinErrorsOfSlope = 4;
constexpr double kMinShare = 0.05;  // total drift relative to a step
constexpr double kMinChange = 0.1;  // level shift relative to a step
// Residual of a level shift relative to that of a constant; it must also be below that of a line.
constexpr double kMaxShiftResidual = 0.5;

struct Line {
  Drift drift;
  double residual = 0;  // sum of squared residuals
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
  line.drift.center = index;
  line.drift.level = seconds;
  line.residual = yy;
  if (xx <= 0) return line;
  line.drift.slope = xy / xx;
  line.residual = std::max(0.0, yy - xy * xy / xx);
  line.drift.error = std::sqrt(line.residual / (count - 2) / xx);
  return line;
}

struct Shift {
  std::size_t first = 0;
  double residual = 0;
  double size = 0;
};

// Fits the level shift with the smallest residual.
Shift FitShift(std::span<const TimedStep> steps) {
  double sum = 0;
  double squares = 0;
  for (const TimedStep& step : steps) {
    sum += step.seconds;
    squares += step.seconds * step.seconds;
  }
  Shift best{.first = 0, .residual = squares, .size = 0};
  double before = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    before += steps[i - 1].seconds;
    if (i < kMinStepsPerSide || i + kMinStepsPerSide > steps.size()) continue;
    const auto left = static_cast<double>(i);
    const auto right = static_cast<double>(steps.size() - i);
    const double after = sum - before;
    const double residual = std::max(0.0, squares - before * before / left - after * after / right);
    if (residual < best.residual) best = {i, residual, after / right - before / left};
  }
  return best;
}

}  // namespace

double Estimator::Model::At(double ahead, double residual) const {
  if (!drift) return residual;
  // Steps that grow shorter never reach 0.
  const double min = drift->At(last_index) / 4;
  return std::max(min, drift->At(last_index + ahead) + residual);
}

void Estimator::OnStepFinished(std::uint64_t index, std::chrono::nanoseconds duration,
                               unsigned workers, WorkClass step_class) {
  Class& of = classes_[step_class];
  // Drops the oldest half at once, for amortised constant time.
  if (of.samples.size() >= 2 * kMaxSamples)
    of.samples.erase(of.samples.begin(), of.samples.end() - kMaxSamples);
  of.samples.push_back({static_cast<double>(index), std::max(0.0, Seconds(duration)), workers});
  ++of.count;
  ++finished_;
}

// Returns the last steps, only those with as many workers if there are enough.
std::vector<TimedStep> Estimator::Comparable(const Class& of, unsigned workers) {
  const auto first =
      of.samples.end() - static_cast<std::ptrdiff_t>(std::min(of.samples.size(), kMaxSamples));
  const auto alike = std::count_if(first, of.samples.end(),
                                   [&](const Sample& sample) { return sample.workers == workers; });
  const bool all = static_cast<std::size_t>(alike) < kMinComparable;
  std::vector<TimedStep> steps;
  for (auto sample = first; sample != of.samples.end(); ++sample) {
    if (all || sample->workers == workers) steps.push_back({sample->index, sample->seconds});
  }
  std::ranges::sort(steps, {}, &TimedStep::index);
  return steps;
}

Estimator::Model Estimator::ModelOf(WorkClass step_class, unsigned workers) const {
  Model model;
  const auto found = classes_.find(step_class);
  if (found == classes_.end()) {
    for (const auto& [name, of] : classes_) {
      for (const TimedStep& step : Comparable(of, workers)) model.residuals.push_back(step.seconds);
    }
    // Unordered maps have no stable order.
    std::ranges::sort(model.residuals);
  } else {
    const std::vector<TimedStep> steps = Comparable(found->second, workers);
    const Trend trend = FindTrend(steps);
    model.drift = trend.drift;
    model.last_index = steps.back().index;
    for (std::size_t i = trend.first; i < steps.size(); ++i) {
      model.residuals.push_back(steps[i].seconds -
                                (trend.drift ? trend.drift->At(steps[i].index) : 0));
    }
  }
  const auto count = static_cast<double>(model.residuals.size());
  model.mean = std::accumulate(model.residuals.begin(), model.residuals.end(), 0.0) / count;
  for (const double residual : model.residuals) {
    model.deviation += (residual - model.mean) * (residual - model.mean) / count;
  }
  const double between =
      found == classes_.end() ? 0 : VarianceBetween(model.residuals, std::sqrt(model.deviation));
  model.mean_error = std::sqrt(model.deviation / count + between);
  model.deviation = std::sqrt(model.deviation);
  return model;
}

// One random simulation of the rest.
struct Estimator::Simulation {
  const std::vector<std::pair<Model, std::uint64_t>>& left;
  const std::vector<std::pair<Model, double>>& running;
  unsigned workers;
  std::mt19937& random;

  double Normal() { return std::normal_distribution<double>()(random); }
  double Draw(const Model& model) { return model.residuals[random() % model.residuals.size()]; }

  double Unfinished(const Model& model, double elapsed) {
    for (int i = 0; i < 8; ++i) {
      const double whole = model.At(1, Draw(model));
      if (whole > elapsed) return whole - elapsed;
    }
    return kOverdueShare * elapsed;
  }

  // Returns the expected sum of the next `steps` durations.
  static double Sum(const Model& model, double steps) {
    double sum = steps * model.mean;
    if (model.drift) {
      // The drift is linear between the first and the last.
      sum = steps / 2 * (model.At(1, model.mean) + model.At(steps, model.mean));
    }
    return std::max(0.0, sum);
  }

  double Seconds() {
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (const auto& [model, elapsed] : running) free.push(Unfinished(model, elapsed));
    while (free.size() < workers) free.push(0);
    std::uint64_t all = 0;
    for (const auto& [model, steps] : left) all += steps;
    double bulk = 0;
    std::vector<double> last;
    for (const auto& [model, steps] : left) {
      // Deviation of the true mean from the observed one.
      const double shift = Normal() * model.mean_error;
      const auto total = static_cast<double>(steps);
      const double simulated_steps =
          all <= kMaxSimulatedSteps ? total
                                    : std::floor(total * static_cast<double>(kMaxSimulatedSteps) /
                                                 static_cast<double>(all));
      const double summed = total - simulated_steps;
      bulk += Sum(model, summed) + summed * shift + Normal() * model.deviation * std::sqrt(summed);
      for (double i = summed; i < total; ++i) {
        last.push_back(std::max(0.0, model.At(i + 1, Draw(model)) + shift));
      }
    }
    std::ranges::shuffle(last, random);
    double end = 0;
    for (const double seconds : last) {
      const double done = free.top() + seconds;
      free.pop();
      free.push(done);
      end = std::max(end, done);
    }
    if (last.empty()) {
      for (; !free.empty(); free.pop()) end = free.top();
    }
    return end + std::max(0.0, bulk) / workers;
  }
};

std::optional<RemainingTime> Estimator::Remaining(std::span<const PendingGroup> groups) const {
  if (finished_ < kMinFinished) return std::nullopt;
  struct Group {
    std::vector<std::pair<Model, std::uint64_t>> left;
    std::vector<std::pair<Model, double>> running;
    unsigned workers = 1;
  };
  std::map<unsigned, std::vector<Group>> phases;
  for (const PendingGroup& given : groups) {
    Group group;
    group.workers = std::max(1u, given.workers);
    for (const PendingWork& work : given.left) {
      if (work.steps == 0) continue;
      group.left.emplace_back(ModelOf(work.step_class, group.workers), work.steps);
    }
    for (const InFlight& step : given.running) {
      group.running.emplace_back(ModelOf(step.step_class, group.workers), Seconds(step.elapsed));
    }
    phases[given.phase].push_back(std::move(group));
  }
  std::mt19937 random(1);  // deterministic
  std::vector<double> simulated;
  for (std::size_t i = 0; i < kSimulations; ++i) {
    double seconds = 0;
    for (const auto& [phase, at_once] : phases) {
      double longest = 0;
      for (const Group& group : at_once) {
        longest = std::max(longest,
                           Simulation{group.left, group.running, group.workers, random}.Seconds());
      }
      seconds += longest;
    }
    simulated.push_back(seconds);
  }
  std::ranges::sort(simulated);
  return RemainingTime{Nanoseconds(simulated[kMedianIndex]), Nanoseconds(simulated[kP90Index])};
}

std::optional<Drift> Estimator::MainDrift() const {
  const auto main =
      std::ranges::max_element(classes_, {}, [](const auto& entry) { return entry.second.count; });
  if (main == classes_.end()) return std::nullopt;
  return FindTrend(Comparable(main->second, main->second.samples.back().workers)).drift;
}

Trend FindTrend(std::span<const TimedStep> steps) {
  Trend trend;
  if (steps.size() < kMinTrendSteps) return trend;
  const Line line = FitLine(steps);
  const Shift change = FitShift(steps);
  const double level = std::abs(line.drift.level);
  const double span = steps.back().index - steps.front().index;
  double unexplained = 0;
  for (const TimedStep& step : steps) {
    unexplained += (step.seconds - line.drift.level) * (step.seconds - line.drift.level);
  }
  if (change.first > 0 && change.residual < line.residual &&
      change.residual < kMaxShiftResidual * unexplained &&
      std::abs(change.size) > kMinChange * level) {
    // The steps after the shift may drift by themselves.
    trend = FindTrend(steps.subspan(change.first));
    trend.first += change.first;
    return trend;
  }
  const double slope = std::abs(line.drift.slope);
  if (slope > kMinErrorsOfSlope * line.drift.error && slope * span > kMinShare * level) {
    trend.drift = line.drift;
  }
  return trend;
}

}  // namespace reveza::jobs
