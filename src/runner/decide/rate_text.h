// How a rate reads, in the unit of time in which it is at least one.
// Thread-safety: pure functions of values.
#pragma once

#include <string>
#include <string_view>

namespace reveza::runner {

// "1234", "59.2", "5.9": two digits, three from ten on.
std::string FormatShort(double value);

// The time for which a rate is at least 1, up to an hour.
struct RateUnit {
  double seconds = 1;
  std::string_view name = "s";
};
RateUnit RateUnitFor(double per_second);

// "5.9 steps/s", "12 steps/min", "3.1 steps/h".
std::string FormatRate(double per_second, std::string_view unit = "steps");

}  // namespace reveza::runner
