#include "scheduler/slices.h"

#include <algorithm>

namespace reveza::scheduler {
namespace {

constexpr double kNewSampleWeight = 0.3;
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

}  // namespace

Time HandoverCost(const Books& books, GpuId gpu) {
  const Time measured = books.gpus.at(gpu).handover;
  if (measured > Time(0)) return measured;
  Bytes largest = 0;
  for (const auto& [id, job] : books.jobs) {
    largest = std::max(largest, books.Need(job, gpu));
  }
  return LinkTime(books.config, largest);
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
    if (gpu.handover == Time(0)) {
      gpu.handover = std::max(took, Time(1));
      continue;
    }
    const double mean = (1 - kNewSampleWeight) * static_cast<double>(gpu.handover.count()) +
                        kNewSampleWeight * static_cast<double>(took.count());
    gpu.handover = std::max(Time(static_cast<Time::rep>(mean)), Time(1));
  }
}

Time IdleAfter(const Books& books, const Job& job) {
  return std::max(HandoverCost(books, job), kShortestIdle);
}

}  // namespace reveza::scheduler
