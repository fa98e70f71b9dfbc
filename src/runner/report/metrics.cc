#include "runner/report/metrics.h"

#include <algorithm>

namespace reveza::runner {

void MetricSummary::Add(std::uint64_t number, double value) {
  Merge({.count = 1,
         .least = value,
         .mean = value,
         .most = value,
         .final = value,
         .final_number = number});
}

void MetricSummary::Merge(const MetricSummary& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  count += other.count;
  const double share = static_cast<double>(other.count) / static_cast<double>(count);
  // Not mean + (other.mean - mean) * share: the difference of two large numbers may overflow.
  mean = mean * (1 - share) + other.mean * share;
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  if (other.final_number > final_number) {
    final = other.final;
    final_number = other.final_number;
  } else if (other.final_number == final_number) {
    final = std::max(final, other.final);
  }
}

void Metrics::Add(std::uint64_t number, std::span<const Metric> metrics) {
  for (const auto& [name, value] : metrics) {
    if (MetricSummary* summary = Of(name)) {
      summary->Add(number, value);
    } else {
      ++left_out_;
    }
  }
}

void Metrics::Merge(const Metrics& other) {
  left_out_ += other.left_out_;
  for (const auto& [name, summary] : other.all_) {
    if (MetricSummary* own = Of(name)) {
      own->Merge(summary);
    } else {
      left_out_ += summary.count;
    }
  }
}

const MetricSummary* Metrics::Find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &NamedSummary::name);
  return found == all_.end() ? nullptr : &found->summary;
}

MetricSummary* Metrics::Of(std::string_view name) {
  const auto found = std::ranges::find(all_, name, &NamedSummary::name);
  if (found != all_.end()) return &found->summary;
  if (all_.size() >= kMostNames) return nullptr;
  return &all_.emplace_back(std::string(name), MetricSummary{}).summary;
}

}  // namespace reveza::runner
