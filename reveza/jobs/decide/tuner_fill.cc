// Fills the cores: how many workers they take, as far as the steps' processor time tells.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/base/units.h"
#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs {
namespace {

using namespace std::chrono_literals;

constexpr auto kFastSample = 100ms;       // until the first step has finished, then half a step,
constexpr auto kSlowSample = 1s;          // at most
constexpr unsigned kFastSamples = 50;     // after the last change, because reading them costs time
constexpr double kFull = 0.95;            // share of the cores that counts as all
constexpr double kComputing = 0.8;        // share of their time from which steps compute all of it
constexpr double kMinShare = 0.02;        // that is assumed before the first step has finished,
constexpr double kMinKnownShare = 0.001;  // and after
constexpr double kHeadroom = 0.1;         // more workers, because waits coincide
constexpr double kMaxGrowth = 4;          // if the last one was worth it,
constexpr double kFirstGrowth = 2;        // or else
constexpr double kGoodResponse = 0.7;     // share of the growth by which the use of the cores grows

// No response to more workers. Only a comparison of a few workers with about twice as many tells.
constexpr double kNoResponse = 0.35;       // while half of the cores are idle,
constexpr double kNoResponseFuller = 0.1;  // or not: there is less room for one
constexpr double kLess = 0.8;              // of the cores used before: steps have other phases now
constexpr double kHalfIdle = 0.5;
constexpr unsigned kFew = 4;
constexpr double kDoubled = 1.9;
constexpr auto kFlatSample = 500ms;
constexpr unsigned kMaxPatience = 4;

}  // namespace

unsigned InitialWorkers(double cores) {
  return std::max(1u, static_cast<unsigned>(std::lround(std::min(cores, 1e6) / 4)));
}

unsigned WorkersThatShare(double cores) {
  return std::max(1u, static_cast<unsigned>(std::min(cores, 1e6)));
}

Tuner::nanoseconds Tuner::SampleInterval() const {
  if (options_.cores <= 0 || samples_ >= kFastSamples) return kSlowSample;
  const auto length = typical_.median();
  return length ? std::clamp<nanoseconds>(*length / 2, kFastSample, kSlowSample) : kFastSample;
}

void Tuner::SetCores(double cores) {
  if (options_.cores > 0) options_.cores = cores;
}

void Tuner::ObserveUsage(nanoseconds now, std::span<const StepUsage> steps) {
  if (options_.cores <= 0) return;
  use_.Observe(now, steps, workers_, options_.cores);
  ++samples_;
  const bool fills = phase_ == Phase::kBase || phase_ == Phase::kSettled;
  if (fills && running_ >= workers_ && steps.size() >= workers_) FillCores(now);
}

bool Tuner::IsFull(const Level& level) const { return level.busy >= kFull * options_.cores; }

// Returns how many cores are in use, and for how many seconds that was observed; empty if too short
// a time.
std::optional<Tuner::Level> Tuner::CurrentLevel(nanoseconds now, double* seconds) const {
  const bool early = !typical_.median();
  const auto share = early ? use_.AfterStartup() : use_.OfAll(now, workers_);
  if (!share) return std::nullopt;
  double enough = Seconds(kFastSample);
  if (!early) {
    // Each false hope makes the next one wait longer.
    const double patience = std::exp2(std::min(flat_levels_, kMaxPatience)) / 2;
    enough = std::max(Seconds(kFastSample), patience * Seconds(WindowLength()));
  }
  if (share->seconds < enough) return std::nullopt;
  *seconds = share->seconds;
  return Level{workers_, std::max(share->cores, early ? kMinShare : kMinKnownShare) * workers_};
}

// Returns whether about twice as many workers use hardly more cores than before.
bool Tuner::IsFlat(const Level& level) const {
  if (!below_ || below_->workers < kFew) return false;
  const double growth = 1.0 * level.workers / below_->workers;
  const double response = level.busy / below_->busy;
  const double none = level.busy < kHalfIdle * options_.cores ? kNoResponse : kNoResponseFuller;
  return growth > kDoubled && response > kLess && response < 1 + none * (growth - 1);
}

void Tuner::FillCores(nanoseconds now) {
  double seconds = 0;
  const auto level = CurrentLevel(now, &seconds);
  if (!level) return;
  last_ = level;
  const bool more_is_worse = flat_ || worse_.upper_bound(workers_) != worse_.end();
  if (more_is_worse || remaining_ == 0 || IsFull(*level)) return;
  if (IsFlat(*level)) {
    if (seconds >= Seconds(kFlatSample)) LeaveFlat(now, *level);
    return;
  }
  const double share = level->busy / workers_;
  double reach = kFirstGrowth;
  if (share <= kMinShare) reach = kMaxGrowth;
  if (below_ && level->busy / below_->busy > kGoodResponse * workers_ / below_->workers) {
    reach = kMaxGrowth;
  }
  double want = options_.cores / share * (1 + kHeadroom * (1 - share));
  if (share < kComputing) want = std::min(want, reach * workers_);
  const auto next = std::clamp(static_cast<unsigned>(std::lround(std::min(want, 1e6))),
                               options_.min, MaxAllowed());
  // A small change takes a longer look.
  const bool sure = typical_.median() || share > kComputing || next >= kFirstGrowth * workers_ ||
                    seconds >= Seconds(kSlowSample);
  if (next > workers_ && sure) Grow(now, *level, next);
}

void Tuner::Grow(nanoseconds now, const Level& level, unsigned next) {
  const unsigned before = workers_;
  if (!below_ || before > kDoubled * below_->workers) below_ = level;
  base_workers_ = next;
  base_ = {};
  Move(now, next, Phase::kBase);
  LogDecision(now, before,
              fmt::format("{}: {:.1f} of {:.3g} cores busy: {} to fill them",
                          Plural(before, "worker"), level.busy, options_.cores, next));
}

void Tuner::LeaveFlat(nanoseconds now, const Level& level) {
  const unsigned before = workers_;
  flat_ = true;
  ++flat_levels_;
  base_workers_ = below_->workers;
  below_.reset();
  base_ = {};
  Move(now, base_workers_, Phase::kBase);
  LogDecision(now, before,
              fmt::format("{}: {:.1f} of {:.3g} cores busy, hardly more than with {}: back to {}",
                          Plural(before, "worker"), level.busy, options_.cores, base_workers_,
                          base_workers_));
}

}  // namespace reveza::jobs
