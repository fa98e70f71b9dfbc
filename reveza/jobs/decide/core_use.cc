#include "reveza/jobs/decide/core_use.h"

#include <algorithm>
#include <utility>

#include "reveza/jobs/decide/throughput.h"

namespace reveza::jobs {
namespace {

// A step has started up once it has computed for so long, or waits.
constexpr std::chrono::milliseconds kStartup{100};
constexpr double kWaiting = 0.5;  // share of what a core could give it, below which it waits
constexpr double kMost = 0.8;

}  // namespace

void CoreUse::Restart(nanoseconds now) {
  started_cpu_ = started_seconds_ = most_started_ = all_cpu_ = 0;
  all_since_ = now;
}

void CoreUse::Observe(nanoseconds now, std::span<const StepUsage> steps, unsigned workers,
                      double cores) {
  const double passed = observed_ ? Seconds(now - *observed_) : 0;
  const auto running = static_cast<double>(steps.size());
  const double fair = passed * std::min(1.0, cores / std::max(1.0, running));
  std::unordered_map<std::uint64_t, Usage> usage;
  double known = 0;
  for (const StepUsage& step : steps) {
    Usage one{step.cpu, step.cpu >= kStartup};
    const auto before = usage_.find(step.step);
    double used = Seconds(step.cpu);
    if (before != usage_.end()) {
      used = std::max(0.0, Seconds(step.cpu - before->second.cpu));
      one.started_up = one.started_up || before->second.started_up || used < kWaiting * fair;
      if (before->second.started_up) {
        started_cpu_ += used;
        ++known;
      }
    }
    all_cpu_ += used;
    usage.emplace(step.step, one);
  }
  started_seconds_ += known * passed;
  if (known >= kMost * workers) most_started_ += passed;
  observed_ = now;
  usage_ = std::move(usage);
  if (steps.size() < workers) {
    all_since_.reset();
  } else if (!all_since_) {
    all_cpu_ = 0;
    all_since_ = now;
  }
}

void CoreUse::OnStepEnded(std::uint64_t step, nanoseconds cpu) {
  const auto before = usage_.find(step);
  if (before != usage_.end()) cpu -= before->second.cpu;
  all_cpu_ += std::max(0.0, Seconds(cpu));
}

std::optional<CoreUse::Share> CoreUse::AfterStartup() const {
  if (most_started_ <= 0) return std::nullopt;
  return Share{started_cpu_ / started_seconds_, most_started_};
}

std::optional<CoreUse::Share> CoreUse::OfAll(nanoseconds now, unsigned workers) const {
  if (!all_since_ || now <= *all_since_) return std::nullopt;
  const double passed = Seconds(now - *all_since_);
  return Share{all_cpu_ / passed / workers, passed};
}

}  // namespace reveza::jobs
