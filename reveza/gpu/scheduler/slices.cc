#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

constexpr double kNewSampleWeight = 0.3;
// Handovers of less than 1/16 of the GPU are no measure of the time per byte.
constexpr Bytes kSmallHandoverDivisor = 16;
constexpr Time kMinIdleAfter = std::chrono::milliseconds(5);
// After so many long sleeps in a row, the next is taken for one after a part of the cost.
constexpr unsigned kTrustedSleeps = 3;
constexpr int kTrustedSleepDivisor = 8;

Time Seconds(double seconds) {
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
}

Time Clamp(const Config& config, Time length) {
  return std::clamp(length, config.slice_floor, std::max(config.slice_floor, config.slice_ceiling));
}

Time SliceFor(const Config& config, Time cost) {
  const double share = std::max(config.handover_share, 0.001);
  return Clamp(config, Time(static_cast<Time::rep>(static_cast<double>(cost.count()) / share)));
}

Time LinkTime(const Config& config, Bytes bytes) {
  return Seconds(static_cast<double>(bytes) / std::max(config.link_estimate, 1.0));
}

double Average(double mean, double sample) {
  return mean == 0 ? sample : (1 - kNewSampleWeight) * mean + kNewSampleWeight * sample;
}

// Returns what a handover between the competing jobs may have to swap in at their present size.
Bytes BytesToMove(const Ledger& ledger, GpuId gpu) {
  const Gpu& card = ledger.gpus.at(gpu);
  Bytes sum = card.parked.queued_claim();
  Bytes largest = card.parked.LargestQueuedMovable();
  for (const Job* job : card.jobs) {
    if (job->phase == Phase::kSuspended && !ledger.WantsToRun(*job)) continue;
    const Bytes claim = ledger.Claim(*job, gpu);
    sum += claim;
    largest = std::max(largest, claim - std::min(claim, ledger.Fixed(*job, gpu)));
  }
  const Bytes limit = card.Limit();
  return std::min(largest, sum - std::min(sum, limit));
}

Time ComputeCost(const Ledger& ledger, GpuId gpu) {
  const Gpu& card = ledger.gpus.at(gpu);
  if (card.handover == Time(0)) {
    Bytes largest = card.parked.LargestClaim();
    for (const Job* job : card.jobs) largest = std::max(largest, ledger.Need(*job, gpu));
    return LinkTime(ledger.config, largest);
  }
  const Bytes bytes = BytesToMove(ledger, gpu);
  const Time as_now = card.handover_seconds_per_byte == 0
                          ? LinkTime(ledger.config, bytes)
                          : Seconds(static_cast<double>(bytes) * card.handover_seconds_per_byte);
  return std::max(card.handover, as_now);
}

}  // namespace

Time HandoverCost(const Ledger& ledger, GpuId gpu) {
  return ledger.HandoverCost(gpu, [&] { return ComputeCost(ledger, gpu); });
}

Time HandoverCost(const Ledger& ledger, const Job& job) {
  Time cost{0};
  for (const GpuId gpu : job.uses) cost = std::max(cost, HandoverCost(ledger, gpu));
  return cost;
}

Time SliceLength(const Ledger& ledger, GpuId gpu) {
  return SliceFor(ledger.config, HandoverCost(ledger, gpu));
}

Time SliceLength(const Ledger& ledger, const Job& job) {
  return SliceFor(ledger.config, HandoverCost(ledger, job));
}

Time ShortestUsefulTurn(const Ledger& ledger, const Job& job) {
  Bytes missing = 0;
  for (const GpuId gpu : job.uses) missing = std::max(missing, ledger.Deficit(job, gpu));
  return SliceFor(ledger.config, LinkTime(ledger.config, missing));
}

Time ClosableAt(const Ledger& ledger, const Job& job) {
  if (job.phase != Phase::kRunning) return Time::max();
  if (job.Holds()) {
    return std::max(job.turn_start + ledger.config.slice_ceiling, job.closable_at);
  }
  if (job.AllIdle()) return job.closable_at;
  const Time turn = job.backfill_turn.value_or(SliceLength(ledger, job));
  return std::max(job.slice_start + turn, job.closable_at);
}

Time EndOfInterrupted(const Ledger& ledger, const Job& job) {
  if (!job.interrupted_slice) return Time(0);
  return *job.interrupted_slice + SliceLength(ledger, job);
}

bool ContinuesSlice(const Ledger& ledger, const Job& job) {
  return job.interrupted_slice && ledger.now < *job.interrupted_slice + SliceLength(ledger, job);
}

void RecordHandover(Ledger& ledger, const Job& job, Time took) {
  for (const GpuId id : job.uses) {
    Gpu& gpu = ledger.gpus.at(id);
    const double mean = Average(static_cast<double>(gpu.handover.count()),
                                static_cast<double>(std::max(took, Time(1)).count()));
    gpu.handover = std::max(Time(static_cast<Time::rep>(mean)), Time(1));
    const auto bytes = job.entry_deficit.find(id);
    if (bytes == job.entry_deficit.end() || bytes->second < gpu.Limit() / kSmallHandoverDivisor)
      continue;
    gpu.handover_seconds_per_byte =
        Average(gpu.handover_seconds_per_byte,
                std::chrono::duration<double>(took).count() / static_cast<double>(bytes->second));
  }
}

void BeginWait(Ledger& ledger, Job& job) {
  if (job.waiting_since || !ledger.WantsToRun(job)) return;
  job.waiting_since = ledger.now;
  if (!job.asleep_since) return;
  const bool was_long = ledger.now - *job.asleep_since >= HandoverCost(ledger, job);
  job.long_sleeps = was_long ? job.long_sleeps + 1 : 0;
  job.asleep_since.reset();
}

Time IdleAfter(const Ledger& ledger, const Job& job) {
  const Time cost = HandoverCost(ledger, job);
  const bool sleeps_long = job.long_sleeps >= kTrustedSleeps;
  return std::max(sleeps_long ? cost / kTrustedSleepDivisor : cost, kMinIdleAfter);
}

}  // namespace reveza::scheduler
