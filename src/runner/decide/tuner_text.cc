// What the tuner remembers and says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/decide/rate_text.h"
#include "runner/decide/tuner.h"

namespace reveza::runner {
namespace {

constexpr double kFading = 0.7;
constexpr std::size_t kLongestLog = 1000;

}  // namespace

std::string_view ToText(HardSignal signal) {
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

std::string Tuner::WhyNoOther() const {
  if (options_.least == options_.most) {
    return fmt::format("no more than {} may run at once", options_.most);
  }
  if (last_hard_) return std::string(ToText(last_signal_));
  if (starved_) return "more did not run at once: steps waited for something else";
  if (frozen_) {
    return fmt::format("fewer than {} {} were left for each by then", kFreezeSteps, options_.unit);
  }
  return "it has just been measured";
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
