// Least, mean, greatest and last value of each measure over all runs and cycles.
// Not safe from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reveza::phi {

// A window of which a measure could not be taken.
struct Unmeasured {
  std::uint64_t cycle = 0;  // its last
  std::uint32_t run = 0;
  std::string why;

  bool IsBefore(const Unmeasured& other) const {
    return cycle != other.cycle ? cycle < other.cycle : run < other.run;
  }
};

struct MeasureSummary {
  std::uint64_t count = 0;       // of values that were available
  std::uint64_t unmeasured = 0;  // of values that were due and could not be measured
  double least = 0;
  double sum = 0;
  double most = 0;
  // Of the last cycle with a value: the sum over runs, and how many.
  std::uint64_t last_cycle = 0;
  std::uint64_t last_count = 0;
  double last_sum = 0;

  void Add(std::uint64_t cycle, double value);
  double Mean() const { return sum / static_cast<double>(count); }
  double Final() const { return last_sum / static_cast<double>(last_count); }
};

}  // namespace reveza::phi
