// Building blocks of charts: text, numbers and scales. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reveza::phi {

// Escapes text for XML content and attributes. Replaces invalid UTF-8 by U+FFFD.
std::string EscapeXml(std::string_view text);
// Returns at most `max` characters of UTF-8, the last of them an ellipsis if the name is longer.
std::string ShortName(std::string_view name, std::size_t max);
// Formats a number with three significant digits, without trailing zeros.
std::string FormatShort(double number);

// A linear map from values to pixels.
struct Scale {
  double min = 0;
  double max = 1;
  double from = 0;  // pixel of `min`
  double to = 1;    // pixel of `max`

  double operator()(double value) const { return from + (value - min) / (max - min) * (to - from); }
};

// Returns a scale whose range covers [min, max], extended to round numbers; never empty.
Scale NiceScale(double min, double max, double from, double to);
// Returns about `wanted` round numbers within the scale.
std::vector<double> Ticks(const Scale& scale, int wanted);

}  // namespace reveza::phi
