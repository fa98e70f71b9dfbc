#include "reveza/jobs/decide/throughput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace reveza::jobs {
namespace {

constexpr std::size_t kFirstSteps = 5;     // of a class, which define its typical duration
constexpr std::size_t kRecentSteps = 33;   // for the median
constexpr std::size_t kMaxClasses = 4096;  // further classes are not normalised
constexpr double kMinStep = 1e-6;          // seconds; below clock resolution
// Prior: steps vary by 10 %, with the weight of four steps.
constexpr double kPriorDeviation = 0.1;
constexpr double kPriorSteps = 4;
// Counting is preferred below this error.
constexpr double kMaxCountedError = 0.02;

double Square(double x) { return x * x; }

// Returns the standard error of a weighted mean from the spread of the windows.
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

constexpr double kDecay = 0.7;  // of earlier measurements

}  // namespace

bool TypicalDurations::Add(WorkClass step_class, double seconds, double slowdown) {
  const double usual = std::max(seconds, kMinStep) / slowdown;
  double typical = usual;
  bool fixed = false;
  if (classes_.contains(step_class) || classes_.size() < kMaxClasses) {
    // One class alone needs no more than a unit.
    const std::size_t enough = classes_.empty() ? 1 : kFirstSteps;
    FirstSteps& first = classes_[step_class];
    if (first.seconds.empty()) first.enough = enough;
    if (first.seconds.size() < first.enough) {
      first.seconds.insert(std::ranges::upper_bound(first.seconds, usual), usual);
      first.typical = first.seconds[first.seconds.size() / 2];
      fixed = first.enough > 1 && first.seconds.size() == first.enough;
    }
    typical = first.typical;
  }
  sum_ += typical;
  ++steps_;
  if (recent_.size() < kRecentSteps) {
    recent_.push_back(seconds);
  } else {
    recent_[next_] = seconds;
    next_ = (next_ + 1) % kRecentSteps;
  }
  return fixed;
}

std::optional<double> TypicalDurations::Typical(WorkClass step_class) const {
  const auto found = classes_.find(step_class);
  if (found == classes_.end()) return std::nullopt;
  return found->second.typical;
}

std::optional<std::chrono::nanoseconds> TypicalDurations::median() const {
  if (recent_.empty()) return std::nullopt;
  std::vector<double> sorted = recent_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return std::chrono::nanoseconds(std::llround(*middle * 1e9));
}

LogRate GainBetween(const Throughput& from, const Throughput& to) {
  const bool count = from.counted.error < kMaxCountedError && to.counted.error < kMaxCountedError;
  const LogRate& before = count ? from.counted : from.little;
  const LogRate& after = count ? to.counted : to.little;
  return {after.value - before.value, std::hypot(before.error, after.error)};
}

void Measurement::Advance(nanoseconds now) {
  if (now <= last_) return;
  const double passed = Seconds(now - last_);
  open_.seconds += passed;
  open_.busy += passed * running_;
  last_ = now;
}

void Measurement::OnStepFinished(nanoseconds now, nanoseconds duration, nanoseconds cpu,
                                 double typical) {
  Advance(now);
  const double ratio = std::max(Seconds(duration), kMinStep) / typical;
  const double log = std::log(ratio);
  open_.work += typical;
  open_.log_sum += log;
  open_.log_squares += log * log;
  open_.ratio_sum += ratio;
  open_.ratio_squares += ratio * ratio;
  open_.duration_sum += Seconds(duration);
  open_.cpu_sum += Seconds(cpu);
  ++open_.steps;
  if (running_ > 0) --running_;
  if (open_.seconds >= Seconds(kMinWindow) && open_.steps >= (workers_ + 2) / 3) {
    steps_ += open_.steps;
    windows_.push_back(open_);
    open_ = {};
  }
}

void Measurement::SetRunning(nanoseconds now, unsigned running) {
  Advance(now);
  running_ = running;
  max_running_ = std::max(max_running_, running);
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

std::optional<Throughput> Measurement::Result(std::size_t min_windows) const {
  if (windows_.size() < min_windows) return std::nullopt;
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
    all.duration_sum += window.duration_sum;
    all.cpu_sum += window.cpu_sum;
    const auto steps = static_cast<double>(window.steps);
    counted.push_back({std::log(window.work / window.seconds), window.seconds});
    little.push_back({-window.log_sum / steps, steps});
  }
  const auto steps = static_cast<double>(steps_);
  const double mean_log = all.log_sum / steps;
  // Without SetRunning calls, all workers count as busy.
  const double running = all.busy > 0 ? all.busy / all.seconds : workers_;
  const double freedom = steps - 1 + kPriorSteps;
  const double log_variance = (std::max(0.0, all.log_squares - steps * Square(mean_log)) +
                               kPriorSteps * Square(kPriorDeviation)) /
                              freedom;
  const double mean_ratio = all.ratio_sum / steps;
  const double ratio_variance =
      std::max(0.0, all.ratio_squares / steps - Square(mean_ratio)) / Square(mean_ratio);
  // Workers are at a random phase of their step when counting begins and ends.
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
  result.rate =
      result.counted.error < kMaxCountedError ? all.work / all.seconds : running / mean_ratio;
  result.slowdown = std::exp(mean_log);
  result.busy = running * all.cpu_sum / std::max(all.duration_sum, kMinStep);
  return result;
}

void ThroughputTable::Record(const Throughput& measured) {
  Entry& entry = EntryFor(measured.workers);
  entry.work = kDecay * entry.work + measured.rate * measured.seconds;
  entry.seconds = kDecay * entry.seconds + measured.seconds;
  entry.steps += measured.steps;
}

void ThroughputTable::RecordMemory(unsigned workers, Bytes in_use) {
  Entry& entry = EntryFor(workers);
  entry.memory = std::max(entry.memory.value_or(0), in_use);
}

std::vector<TunerRow> ThroughputTable::Rows(double typical_seconds) const {
  std::vector<TunerRow> rows;
  for (const Entry& entry : entries_) {
    if (entry.steps == 0) continue;
    TunerRow row;
    row.workers = entry.workers;
    row.rate = entry.work / entry.seconds / typical_seconds;
    row.gain = rows.empty() ? 0 : row.rate / rows.front().rate - 1;
    row.steps = entry.steps;
    row.memory = entry.memory;
    rows.push_back(row);
  }
  return rows;
}

ThroughputTable::Entry& ThroughputTable::EntryFor(unsigned workers) {
  const auto place = std::ranges::lower_bound(entries_, workers, {}, &Entry::workers);
  if (place != entries_.end() && place->workers == workers) return *place;
  Entry entry;
  entry.workers = workers;
  return *entries_.insert(place, entry);
}

std::string FormatShort(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.95) return fmt::format("{:.3g}", value);
  return fmt::format("{:.2g}", value);
}

RateUnit RateUnitFor(double per_second) {
  for (const RateUnit unit : {RateUnit{1, "s"}, RateUnit{60, "min"}}) {
    if (per_second * unit.seconds >= 1) return unit;
  }
  return {3600, "h"};
}

std::string FormatRate(double per_second) {
  const auto [seconds, time] = RateUnitFor(per_second);
  return fmt::format("{} steps/{}", FormatShort(per_second * seconds), time);
}

}  // namespace reveza::jobs
