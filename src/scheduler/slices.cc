#include "scheduler/slices.h"

#include <algorithm>

namespace reveza::scheduler {
namespace {

constexpr double kNewSampleWeight = 0.3;
// Below this part of the card the time of a handover says little about what a byte takes.
constexpr Bytes kSmallHandover = 16;
constexpr Time kShortestIdle = std::chrono::milliseconds(5);

Time Seconds(double seconds) {
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
}

Time Clamp(const Config& config, Time length) {
  return std::clamp(length, config.slice_floor, std::max(config.slice_floor, config.slice_ceiling));
}

Time Over(const Config& config, Time cost) {
  const double share = std::max(config.handover_share, 0.001);
  return Clamp(config, Time(static_cast<Time::rep>(static_cast<double>(cost.count()) / share)));
}

Time LinkTime(const Config& config, Bytes bytes) {
  return Seconds(static_cast<double>(bytes) / std::max(config.link_estimate, 1.0));
}

double Average(double mean, double sample) {
  return mean == 0 ? sample : (1 - kNewSampleWeight) * mean + kNewSampleWeight * sample;
}

// What a handover among those that run or want to may have to bring in, as they are now.
Bytes AtStake(const Books& books, GpuId gpu) {
  Bytes sum = 0;
  Bytes largest = 0;
  for (const auto& [id, job] : books.jobs) {
    if (job.phase == Phase::kOut && !books.Wants(job)) continue;
    const Bytes claim = books.Claim(job, gpu);
    sum += claim;
    largest = std::max(largest, claim - std::min(claim, books.Fixed(job, gpu)));
  }
  const Bytes limit = books.gpus.at(gpu).Limit();
  return std::min(largest, sum - std::min(sum, limit));
}

}  // namespace

Time HandoverCost(const Books& books, GpuId gpu) {
  const Gpu& card = books.gpus.at(gpu);
  if (card.handover == Time(0)) {
    Bytes largest = 0;
    for (const auto& [id, job] : books.jobs) {
      largest = std::max(largest, books.Need(job, gpu));
    }
    return LinkTime(books.config, largest);
  }
  const Bytes bytes = AtStake(books, gpu);
  const Time as_now = card.handover_byte == 0
                          ? LinkTime(books.config, bytes)
                          : Seconds(static_cast<double>(bytes) * card.handover_byte);
  return std::max(card.handover, as_now);
}

Time HandoverCost(const Books& books, const Job& job) {
  Time cost{0};
  for (const auto& [id, gpu] : books.gpus) {
    if (job.Uses(id)) cost = std::max(cost, HandoverCost(books, id));
  }
  return cost;
}

Time SliceLength(const Books& books, GpuId gpu) {
  return Over(books.config, HandoverCost(books, gpu));
}

Time SliceLength(const Books& books, const Job& job) {
  return Over(books.config, HandoverCost(books, job));
}

Time ShortestUsefulTurn(const Books& books, const Job& job) {
  Bytes missing = 0;
  for (const auto& [id, gpu] : books.gpus) {
    missing = std::max(missing, books.Deficit(job, id));
  }
  return Over(books.config, LinkTime(books.config, missing));
}

Time ClosableAt(const Books& books, const Job& job) {
  if (job.phase != Phase::kIn) return Time::max();
  if (job.AllIdle()) return job.closable_at;
  const Time turn = job.filling_in_for.value_or(SliceLength(books, job));
  return std::max(job.turn_start + turn, job.closable_at);
}

void RecordHandover(Books& books, const Job& job, Time took) {
  for (auto& [id, gpu] : books.gpus) {
    if (!job.Uses(id)) continue;
    const double mean = Average(static_cast<double>(gpu.handover.count()),
                                static_cast<double>(std::max(took, Time(1)).count()));
    gpu.handover = std::max(Time(static_cast<Time::rep>(mean)), Time(1));
    const auto bytes = job.coming_in.find(id);
    if (bytes == job.coming_in.end() || bytes->second < gpu.Limit() / kSmallHandover) continue;
    gpu.handover_byte = Average(gpu.handover_byte, std::chrono::duration<double>(took).count() /
                                                       static_cast<double>(bytes->second));
  }
}

Time IdleAfter(const Books& books, const Job& job) {
  return std::max(HandoverCost(books, job), kShortestIdle);
}

}  // namespace reveza::scheduler
