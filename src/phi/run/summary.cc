#include "phi/run/summary.h"

#include <algorithm>
#include <cmath>

namespace reveza::phi {

void MeasureSummary::Add(std::uint64_t cycle, double value) {
  if (std::isnan(value)) return;
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += value;
  ++count;
  if (cycle != last_cycle) {
    last_cycle = cycle;
    last_count = 0;
    last_sum = 0;
  }
  last_sum += value;
  ++last_count;
}

}  // namespace reveza::phi
