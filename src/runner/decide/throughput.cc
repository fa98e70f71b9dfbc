#include "runner/decide/throughput.h"

#include <algorithm>
#include <cmath>

namespace reveza::runner {
namespace {

constexpr std::size_t kFirst = 5;           // steps that say what is typical for a class
constexpr std::size_t kLast = 33;           // steps that say how long one takes now
constexpr std::size_t kMostClasses = 4096;  // what comes after is taken as it is
constexpr double kShortestStep = 1e-6;      // seconds; clocks are not finer
// Before much is known, steps are thought to differ by a tenth, with the weight of four steps.
constexpr double kPriorDeviation = 0.1;
constexpr double kPriorSteps = 4;
// Counting is preferred when it is at least so sure.
constexpr double kSureEnough = 0.02;

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double Square(double x) { return x * x; }

// The error of a mean by how much the windows differ, each with its weight.
double ErrorByWindows(const std::vector<LogRate>& windows) {
  double weights = 0;
  double sum = 0;
  for (const auto& [value, weight] : windows) {
    weights += weight;
    sum += weight * value;
  }
  const double mean = sum / weights;
  double squares = 0;
  for (const auto& [value, weight] : windows) squares += weight * Square(value - mean);
  const auto count = static_cast<double>(windows.size());
  return std::sqrt(squares / weights / (count - 1));
}

}  // namespace

bool TypicalDurations::Add(WorkClass step_class, double seconds, double work, double slowdown) {
  const double unit = std::max(seconds, kShortestStep) / work / slowdown;
  double typical = unit;
  bool fixed = false;
  if (classes_.contains(step_class) || classes_.size() < kMostClasses) {
    First& first = classes_[step_class];
    if (first.seconds.size() < kFirst) {
      first.seconds.insert(std::ranges::upper_bound(first.seconds, unit), unit);
      first.typical = first.seconds[first.seconds.size() / 2];
      fixed = first.seconds.size() == kFirst;
    }
    typical = first.typical;
  }
  weighted_ += typical * work;
  work_ += work;
  if (last_.size() < kLast) {
    last_.push_back(seconds);
  } else {
    last_[next_] = seconds;
    next_ = (next_ + 1) % kLast;
  }
  return fixed;
}

std::optional<double> TypicalDurations::Of(WorkClass step_class) const {
  const auto found = classes_.find(step_class);
  if (found == classes_.end()) return std::nullopt;
  return found->second.typical;
}

std::optional<std::chrono::nanoseconds> TypicalDurations::median() const {
  if (last_.empty()) return std::nullopt;
  std::vector<double> sorted = last_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return std::chrono::nanoseconds(std::llround(*middle * 1e9));
}

LogRate GainBetween(const Throughput& from, const Throughput& to) {
  const bool count = from.counted.error < kSureEnough && to.counted.error < kSureEnough;
  const LogRate& before = count ? from.counted : from.little;
  const LogRate& after = count ? to.counted : to.little;
  return {after.value - before.value, std::hypot(before.error, after.error)};
}

Measurement::Measurement(nanoseconds now, unsigned workers, nanoseconds shortest)
    : begun_(now), workers_(workers), shortest_(Seconds(shortest)), last_(now), running_(workers) {}

void Measurement::Advance(nanoseconds now) {
  if (now <= last_) return;
  const double passed = Seconds(now - last_);
  open_.seconds += passed;
  open_.busy += passed * running_;
  last_ = now;
}

void Measurement::Finished(nanoseconds now, nanoseconds duration, double typical) {
  Advance(now);
  const double ratio = std::max(Seconds(duration), kShortestStep) / typical;
  const double log = std::log(ratio);
  open_.work += typical;
  open_.log_sum += log;
  open_.log_squares += log * log;
  open_.ratio_sum += ratio;
  open_.ratio_squares += ratio * ratio;
  ++open_.steps;
  if (running_ > 0) --running_;
  if (open_.seconds >= shortest_ && open_.steps >= (workers_ + 2) / 3) {
    steps_ += open_.steps;
    windows_.push_back(open_);
    open_ = {};
  }
}

void Measurement::Running(nanoseconds now, unsigned running) {
  Advance(now);
  running_ = running;
  most_running_ = std::max(most_running_, running);
}

double Measurement::slowdown() const {
  double sum = open_.log_sum;
  double steps = static_cast<double>(open_.steps);
  for (const Window& window : windows_) {
    sum += window.log_sum;
    steps += static_cast<double>(window.steps);
  }
  return steps > 0 ? std::exp(sum / steps) : 1;
}

std::optional<Throughput> Measurement::Result() const {
  if (windows_.size() < 3) return std::nullopt;
  Window all;
  std::vector<LogRate> counted;
  std::vector<LogRate> little;
  for (const Window& window : windows_) {
    all.seconds += window.seconds;
    all.busy += window.busy;
    all.work += window.work;
    all.log_sum += window.log_sum;
    all.log_squares += window.log_squares;
    all.ratio_sum += window.ratio_sum;
    all.ratio_squares += window.ratio_squares;
    const auto steps = static_cast<double>(window.steps);
    counted.push_back({std::log(window.work / window.seconds), window.seconds});
    little.push_back({-window.log_sum / steps, steps});
  }
  const auto steps = static_cast<double>(steps_);
  const double mean_log = all.log_sum / steps;
  // Nobody said how many run: as many as may.
  const double running = all.busy > 0 ? all.busy / all.seconds : workers_;
  const double freedom = steps - 1 + kPriorSteps;
  const double log_variance = (std::max(0.0, all.log_squares - steps * Square(mean_log)) +
                               kPriorSteps * Square(kPriorDeviation)) /
                              freedom;
  const double mean_ratio = all.ratio_sum / steps;
  const double ratio_variance =
      std::max(0.0, all.ratio_squares / steps - Square(mean_ratio)) / Square(mean_ratio);
  // Where in its step a worker is when counting begins and ends is chance.
  const double phase = std::sqrt(workers_ / 6.0) / steps;

  Throughput result;
  result.workers = workers_;
  result.steps = steps_;
  result.seconds = all.seconds;
  result.counted.value = std::log(all.work / all.seconds);
  result.counted.error =
      std::max(std::hypot(std::sqrt(ratio_variance / steps), phase), ErrorByWindows(counted));
  result.little.value = std::log(running) - mean_log;
  result.little.error = std::max(std::sqrt(log_variance / steps), ErrorByWindows(little));
  result.rate = result.counted.error < kSureEnough ? all.work / all.seconds : running / mean_ratio;
  result.slowdown = std::exp(mean_log);
  return result;
}

}  // namespace reveza::runner
