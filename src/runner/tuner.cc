#include "runner/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/progress_text.h"

namespace reveza::runner {
namespace {

constexpr double kErrors = 2;        // what is better is so by more than so many standard errors,
constexpr double kLeastGain = 0.02;  // and by more than this
constexpr unsigned kMostRounds = 2;  // of measuring both again, while it looks better
constexpr double kNoLoss = 0.01;
constexpr double kClearErrors = 3;  // ends a measurement early
constexpr double kSure = 0.01;      // an error that needs no more measuring
constexpr double kSureToDouble = 0.12;
constexpr double kPaysToDouble = 0.6;  // of the gain that as many more workers could bring
constexpr double kWeak = 0.25;         // of it: a gain that is believed only when seen twice
constexpr double kChanged = 0.15;      // a throughput that differs so much is another one
constexpr double kChangedErrors = 4;
constexpr std::uint64_t kFewestSteps = 4;   // of a measurement
constexpr std::uint64_t kMostSteps = 300;   // of one that is still unsure
constexpr std::uint64_t kShareOfRest = 20;  // and no more than this part of what is left
constexpr std::uint64_t kFreezeSteps = 4;   // for each worker
constexpr unsigned kHealthyToRetry = 30;    // windows before what failed is tried again
constexpr unsigned kMostDoublings = 6;
constexpr double kFading = 0.7;
constexpr std::size_t kLongestLog = 1000;

std::string_view Words(HardSignal signal) {
  switch (signal) {
    case HardSignal::kOutOfMemory:
      return "a step was killed for memory";
    case HardSignal::kPressureFull:
      return "all wait for memory";
    case HardSignal::kNoGpuMemory:
      return "a step was refused memory of the GPU";
  }
  return "";
}

// By one, above eight by an eighth.
unsigned StepAt(unsigned workers) { return workers <= 8 ? 1 : (workers + 4) / 8; }

// Of two measurements of the same: the surer weighs more, unless there is a trend between them, of
// which the middle is wanted.
LogRate Between(const LogRate& first, const LogRate& second) {
  double weight = 0.5;
  if (std::abs(first.value - second.value) < kErrors * std::hypot(first.error, second.error)) {
    const double one = 1 / (first.error * first.error);
    weight = one / (one + 1 / (second.error * second.error));
  }
  return {weight * first.value + (1 - weight) * second.value,
          std::hypot(weight * first.error, (1 - weight) * second.error)};
}

Throughput Middle(const Throughput& first, Throughput second) {
  second.counted = Between(first.counted, second.counted);
  second.little = Between(first.little, second.little);
  return second;
}

bool IsBetter(const LogRate& gain) {
  return gain.value > std::max(kErrors * gain.error, kLeastGain);
}

// Fewer workers need less memory: they need not be better.
bool IsAsGood(const LogRate& gain) { return gain.value - gain.error > -kNoLoss; }

}  // namespace

Tuner::Tuner(Options options) : options_(std::move(options)), random_(options_.seed) {
  options_.least = std::max(1u, options_.least);
  options_.most = std::max(options_.least, options_.most);
  workers_ = base_workers_ = std::clamp(options_.first, options_.least, options_.most);
}

void Tuner::Finished(nanoseconds now, nanoseconds duration, double work, WorkClass step_class) {
  work = std::isfinite(work) && work > 0 ? work : 1;
  const double seconds = std::max(0.0, std::chrono::duration<double>(duration).count());
  if (measurement_ && measurement_->steps() > 0) slowdown_ = measurement_->slowdown();
  typical_.Add(step_class, seconds, work, slowdown_);
  if (measurement_) {
    measurement_->Finished(now, duration, typical_.Of(step_class).value_or(seconds) * work);
  }
  ++finished_in_window_;
}

void Tuner::Hard(nanoseconds now, HardSignal signal) {
  const nanoseconds incident =
      std::max(typical_.median().value_or(nanoseconds(0)), options_.shortest_window);
  const bool same = last_hard_ && now - *last_hard_ < incident;
  healthy_ = 0;
  window_begun_ = now;
  finished_in_window_ = 0;
  if (same) return;

  last_hard_ = now;
  const unsigned before = workers_;
  failed_at_ = before;
  hard_count_ = std::min(hard_count_ + 1, kMostDoublings);
  base_workers_ = std::min(base_workers_, Ceiling());
  goal_ = base_workers_;
  base_ = {};
  tried_ = {};
  doubling_ = up_failed_ = down_failed_ = frozen_ = false;
  Move(now, std::max(options_.least, before / 2), Phase::kRecover);
  Say(now, before,
      fmt::format("{}: {}: {} {}", WorkersText(before), Words(signal),
                  workers_ < before ? "down to" : "stay at", workers_));
}

void Tuner::Pass(nanoseconds now, std::uint64_t remaining, unsigned running) {
  remaining_ = remaining;
  if (measurement_) measurement_->Running(now, running);
  HealthyWindows(now, running);
  if (phase_ == Phase::kRecover) return;
  if (remaining < kFreezeSteps * workers_) {
    if (!frozen_) Freeze(now);
    return;
  }
  if (frozen_) {
    frozen_ = false;
    Move(now, workers_, Phase::kBase);
  }
  if (!measurement_) {
    if (StillOld(now, running)) return;
    measurement_.emplace(now, workers_, options_.shortest_window);
    measurement_->Running(now, running);
  } else if (const auto seen = Measured(now, *measurement_)) {
    OnMeasured(now, *seen, measurement_->filled());
  }
}

void Tuner::Memory(Bytes in_use) {
  Known& known = KnownOf(workers_);
  known.memory = std::max(known.memory.value_or(0), in_use);
}

void Tuner::Move(nanoseconds now, unsigned workers, Phase phase) {
  if (workers != workers_) changed_ = now;
  workers_ = workers;
  phase_ = phase;
  measurement_.reset();
}

// Whether steps of before the last change disturb what would be measured.
bool Tuner::StillOld(nanoseconds now, unsigned running) {
  if (!changed_) return false;
  if (running > workers_) changed_ = now;
  return now - *changed_ <
         std::max(typical_.median().value_or(nanoseconds(0)), options_.shortest_window);
}

// What was measured, once that is long enough.
std::optional<Throughput> Tuner::Measured(nanoseconds now, const Measurement& measurement) const {
  auto seen = measurement.Result();
  if (!seen || seen->steps < kFewestSteps) return std::nullopt;
  if (now - measurement.begun() < 2 * typical_.median().value_or(nanoseconds(0))) {
    return std::nullopt;
  }
  const std::uint64_t enough =
      std::clamp<std::uint64_t>(remaining_ / kShareOfRest, std::uint64_t{3} * workers_,
                                std::max<std::uint64_t>(kMostSteps, std::uint64_t{3} * workers_));
  if (seen->steps >= enough) return seen;
  bool sure =
      std::min(seen->counted.error, seen->little.error) < (doubling_ ? kSureToDouble : kSure);
  if (phase_ == Phase::kTry && base_.workers > 0) {
    const LogRate gain = GainBetween(base_, *seen);
    sure = std::abs(gain.value) > std::max(kClearErrors * gain.error, kLeastGain);
  }
  if (!sure) return std::nullopt;
  return seen;
}

void Tuner::OnMeasured(nanoseconds now, const Throughput& seen, bool filled) {
  Remember(seen);
  switch (phase_) {
    case Phase::kBase:
      base_ = seen;
      if (!filled) up_failed_ = true;
      if (!filled) doubling_ = false;
      return TryNext(now);
    case Phase::kTry:
      if (filled || workers_ < base_workers_) return Judge(now, seen);
      // More may not run, whoever forbids it; and those that do are no news.
      up_failed_ = true;
      doubling_ = false;
      Say(now, workers_,
          fmt::format("{}: steps wait for something else: back to {}", WorkersText(workers_),
                      base_workers_));
      return GoBack(now, Phase::kBase);
    case Phase::kAgain:
      return JudgeAgain(now, seen);
    case Phase::kSettled:
      return WatchSettled(now, seen);
    case Phase::kRecover:
      return;
  }
}

void Tuner::Judge(nanoseconds now, const Throughput& seen) {
  const Throughput tried = tried_.workers == seen.workers ? Middle(tried_, seen) : seen;
  const LogRate gain = GainBetween(base_, tried);
  const bool weak = gain.value < kWeak * std::log(1.0 * tried.workers / base_workers_);
  const bool fewer = tried.workers < base_workers_ && IsAsGood(gain);
  if (fewer || (IsBetter(gain) && !weak)) return Accept(now, tried, base_, gain.value);
  std::string_view verdict = "no clear gain, ";
  if (IsBetter(gain)) verdict = "to be sure, ";
  if (gain.value < -kErrors * gain.error) verdict = "";
  tried_ = tried;
  Say(now, workers_,
      fmt::format("{}: {}: {}back to {}", WorkersText(workers_), Comparison(base_, gain.value),
                  verdict, base_workers_));
  GoBack(now, Phase::kAgain);
}

void Tuner::GoBack(nanoseconds now, Phase phase) {
  Move(now, base_workers_, phase);
  if (!log_.empty()) log_.back().after = workers_;
}

void Tuner::JudgeAgain(nanoseconds now, const Throughput& again) {
  const Throughput middle = Middle(base_, again);
  const Throughput tried = tried_;
  const LogRate gain = GainBetween(middle, tried);
  if (IsBetter(gain)) {
    Move(now, tried.workers, Phase::kTry);
    return Accept(now, tried, middle, gain.value);
  }
  if (gain.value > std::max(gain.error, kLeastGain) && rounds_ < kMostRounds) {
    ++rounds_;
    base_ = middle;
    Move(now, tried.workers, Phase::kTry);
    return Say(now, base_workers_, fmt::format("{}: tried once more", WorkersText(workers_)));
  }
  base_ = again;
  const bool near = tried.workers == Up().value_or(0) || tried.workers == Down().value_or(0);
  if (near && tried.workers > base_workers_) up_failed_ = true;
  if (near && tried.workers < base_workers_) down_failed_ = true;
  doubling_ = false;
  TryNext(now);
}

void Tuner::Accept(nanoseconds now, const Throughput& tried, const Throughput& before,
                   double gain) {
  const unsigned old = base_workers_;
  Say(now, old, fmt::format("{}: {}: kept", WorkersText(tried.workers), Comparison(before, gain)));
  const bool up = tried.workers > old;
  const unsigned far = up ? tried.workers - old : old - tried.workers;
  const bool leap = far > StepAt(old);  // what is between was not measured
  base_workers_ = tried.workers;
  base_ = tried;
  fruitless_ = 0;
  reach_ = 1;
  if (doubling_) doubling_ = gain > kPaysToDouble * std::log(1.0 * tried.workers / old);
  up_failed_ = !up && !leap;
  down_failed_ = up && !leap;
  prefer_up_ = up;
  TryNext(now);
}

void Tuner::TryNext(nanoseconds now) {
  tried_ = {};
  rounds_ = 0;
  const unsigned ceiling = Ceiling();
  std::optional<unsigned> next;
  if (doubling_ && base_workers_ < ceiling) {
    next = std::min(2 * base_workers_, ceiling);
  } else {
    doubling_ = false;
    const auto up = up_failed_ ? std::nullopt : Up();
    const auto down = down_failed_ ? std::nullopt : Down();
    next = prefer_up_ ? (up ? up : down) : (down ? down : up);
  }
  if (!next) return Settle(now);
  const unsigned before = workers_;
  Move(now, *next, Phase::kTry);
  Say(now, before, fmt::format("{}: tried", WorkersText(*next)));
}

void Tuner::Settle(nanoseconds now) {
  const unsigned before = workers_;
  Move(now, base_workers_, Phase::kSettled);
  wait_ = std::uniform_int_distribution<unsigned>(2, 5)(random_) << std::min(fruitless_, 4u);
  Say(now, before,
      fmt::format("{}: {}, nothing better beside it: stay", WorkersText(base_workers_),
                  RateText(base_.rate)));
}

void Tuner::WatchSettled(nanoseconds now, const Throughput& seen) {
  const LogRate change = GainBetween(base_, seen);
  const bool other = std::abs(change.value) > std::max(kChanged, kChangedErrors * change.error);
  const std::string text = Comparison(base_, change.value);
  base_ = seen;
  if (!other && wait_ > 0) {
    --wait_;
    return Move(now, workers_, Phase::kSettled);
  }
  if (other) {
    Say(now, workers_, fmt::format("{}: {} before: look again", WorkersText(workers_), text));
    fruitless_ = 0;
  } else {
    ++fruitless_;
  }
  up_failed_ = down_failed_ = false;
  // A small step brings too little to be seen, perhaps.
  reach_ = 1 + fruitless_ % 2;
  prefer_up_ = (random_() & 1) == 0;
  TryNext(now);
}

void Tuner::Freeze(nanoseconds now) {
  const unsigned before = workers_;
  bool keep = phase_ != Phase::kTry;
  if (!keep && base_.workers > 0 && measurement_) {
    const auto seen = measurement_->Result();
    keep = seen && GainBetween(base_, *seen).value > 0;
  }
  if (keep) base_workers_ = workers_;
  frozen_ = true;
  tried_ = {};
  Move(now, base_workers_, Phase::kBase);
  Say(now, before,
      fmt::format("{}: fewer than {} {} are left for each: nothing is changed any more",
                  WorkersText(workers_), kFreezeSteps, options_.unit));
}

// A window is healthy when steps end well in it and no hard signal comes.
void Tuner::HealthyWindows(nanoseconds now, unsigned running) {
  if (!window_begun_) return;
  const nanoseconds length =
      std::max(typical_.median().value_or(nanoseconds(0)), options_.shortest_window);
  if (running > workers_) window_begun_ = now;
  if (now - *window_begun_ < length || finished_in_window_ == 0) return;
  window_begun_ = now;
  finished_in_window_ = 0;
  if (++healthy_ >= kHealthyToRetry << (hard_count_ - 1)) failed_at_.reset();
  if (phase_ == Phase::kRecover) return Recover(now);
  if (!failed_at_) window_begun_.reset();
}

void Tuner::Recover(nanoseconds now) {
  if (workers_ < goal_) {
    Move(now, workers_ + 1, Phase::kRecover);
    Say(now, workers_ - 1, fmt::format("{}: all went well: one more", WorkersText(workers_ - 1)));
  }
  if (workers_ < goal_) return;
  base_workers_ = workers_;
  Move(now, workers_, Phase::kBase);
}

unsigned Tuner::Ceiling() const {
  if (!failed_at_) return options_.most;
  return std::clamp(*failed_at_ - 1, options_.least, options_.most);
}

std::optional<unsigned> Tuner::Up() const {
  const unsigned up = std::min(base_workers_ + reach_ * StepAt(base_workers_), Ceiling());
  if (up <= base_workers_) return std::nullopt;
  return up;
}

std::optional<unsigned> Tuner::Down() const {
  if (base_workers_ <= options_.least) return std::nullopt;
  const unsigned far = std::min(reach_ * StepAt(base_workers_), base_workers_);
  return std::max(options_.least, base_workers_ - far);
}

void Tuner::Remember(const Throughput& seen) {
  Known& known = KnownOf(seen.workers);
  known.work = kFading * known.work + seen.rate * seen.seconds;
  known.seconds = kFading * known.seconds + seen.seconds;
  known.steps += seen.steps;
}

Tuner::Known& Tuner::KnownOf(unsigned workers) {
  const auto place = std::ranges::lower_bound(known_, workers, {}, &Known::workers);
  if (place != known_.end() && place->workers == workers) return *place;
  Known known;
  known.workers = workers;
  return *known_.insert(place, known);
}

std::vector<TunerRow> Tuner::Table() const {
  std::vector<TunerRow> rows;
  for (const Known& known : known_) {
    if (known.steps == 0) continue;
    TunerRow row;
    row.workers = known.workers;
    row.rate = known.work / known.seconds / typical_.mean();
    row.gain = rows.empty() ? 0 : row.rate / rows.front().rate - 1;
    row.steps = known.steps;
    row.memory = known.memory;
    rows.push_back(row);
  }
  return rows;
}

std::string Tuner::RateText(double rate) const {
  return FormatRate(rate / typical_.mean(), options_.unit);
}

// "5.94 steps/s, 3 gave 6.11". What is compared is what was measured of both in the same way: the
// first figure follows from the other and the gain.
std::string Tuner::Comparison(const Throughput& before, double gain) const {
  const double rate = before.rate / typical_.mean();
  const RateUnit unit = RateUnitFor(rate);
  return fmt::format("{:.3g} {}/{}, {} gave {:.3g}", rate * std::exp(gain) * unit.seconds,
                     options_.unit, unit.name, before.workers, rate * unit.seconds);
}

std::string Tuner::WorkersText(unsigned workers) {
  return fmt::format("{} {}", workers, workers == 1 ? "worker" : "workers");
}

void Tuner::Say(nanoseconds now, unsigned before, std::string sentence) {
  // Once is enough.
  if (before == workers_ && !log_.empty() && log_.back().sentence == sentence) return;
  if (log_.size() >= kLongestLog) log_.erase(log_.begin());
  log_.push_back({now, before, workers_, std::move(sentence)});
}

}  // namespace reveza::runner
