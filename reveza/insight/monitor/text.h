// Formats optional numbers for tables; sanitises untrusted text for terminals. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/units.h"

namespace reveza::monitor {

inline constexpr std::string_view kNotAvailable = "n/a";

// Format a value as common/base/units.h does, or "n/a".
inline std::string ShortBytes(std::optional<Bytes> bytes) {
  return bytes ? reveza::ShortBytes(*bytes) : std::string(kNotAvailable);
}
inline std::string FormatTransferRate(std::optional<double> bytes_per_second) {
  return bytes_per_second ? reveza::FormatTransferRate(*bytes_per_second)
                          : std::string(kNotAvailable);
}
inline std::string FormatPercent(std::optional<double> share) {
  return share ? reveza::FormatPercent(*share) : std::string(kNotAvailable);
}
inline std::string FormatSeconds(std::optional<double> seconds) {
  return seconds ? reveza::FormatSeconds(*seconds) : std::string(kNotAvailable);
}
inline std::string FormatNumber(std::optional<std::uint64_t> number) {
  return number ? std::to_string(*number) : std::string(kNotAvailable);
}

// Returns an age in at most six characters: "42s", "5m07", "3h20", "12d".
std::string ShortAge(std::optional<double> seconds);

// Returns "[####xx----]", `width` characters in all: `used` of `whole` as #, `other` as x.
std::string Bar(double used, double other, double whole, int width);
inline std::string Bar(Bytes used, Bytes other, Bytes whole, int width) {
  return Bar(static_cast<double>(used), static_cast<double>(other), static_cast<double>(whole),
             width);
}

// Decodes UTF-8 into characters of one cell each. Replaces control characters (which may begin
// terminal escape sequences), wide and combining characters and invalid UTF-8 by '?'.
std::u32string SanitizeForTerminal(std::string_view text);
std::string ToUtf8(std::u32string_view letters);

}  // namespace reveza::monitor
