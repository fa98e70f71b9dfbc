#include "runner/decide/rate_text.h"

#include <fmt/format.h>

namespace reveza::runner {

std::string FormatShort(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.95) return fmt::format("{:.3g}", value);
  return fmt::format("{:.2g}", value);
}

RateUnit RateUnitFor(double per_second) {
  for (const RateUnit unit : {RateUnit{1, "s"}, RateUnit{60, "min"}}) {
    if (per_second * unit.seconds >= 1) return unit;
  }
  return {3600, "h"};
}

std::string FormatRate(double per_second, std::string_view unit) {
  const auto [seconds, time] = RateUnitFor(per_second);
  return fmt::format("{} {}/{}", FormatShort(per_second * seconds), unit, time);
}

}  // namespace reveza::runner
