// What many steps say of one measure, phi for example, in a few numbers. Pure values: summaries of
// parts of the steps can be merged, and the order of adding and merging changes nothing but the
// last digits of a mean.
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/supervisor/cycle_lines.h"

namespace reveza::runner {

struct MetricSummary {
  std::uint64_t count = 0;  // the others mean nothing while it is 0
  double least = 0;
  double mean = 0;
  double most = 0;
  double final = 0;                // of the step with the highest number
  std::uint64_t final_number = 0;  // its number

  // What step `number` measured; of two values of the same number the larger is the final one.
  void Add(std::uint64_t number, double value);
  void Merge(const MetricSummary& other);

  bool operator==(const MetricSummary&) const = default;
};

struct NamedSummary {
  std::string name;
  MetricSummary summary;

  bool operator==(const NamedSummary&) const = default;
};

class Metrics {
 public:
  // A program that names its measures after its steps does not fill the memory: further names are
  // counted, and nothing else.
  static constexpr std::size_t kMostNames = 256;

  void Add(std::uint64_t number, std::span<const Metric> metrics);
  void Merge(const Metrics& other);

  std::span<const NamedSummary> all() const { return all_; }  // in the order of their coming
  const MetricSummary* Find(std::string_view name) const;     // null when nobody said it
  std::uint64_t left_out() const { return left_out_; }        // values whose name came too late

 private:
  MetricSummary* Of(std::string_view name);

  std::vector<NamedSummary> all_;
  std::uint64_t left_out_ = 0;
};

}  // namespace reveza::runner
