// What charts are made of: texts and numbers of SVG. Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reveza::phi {

// For text and attributes.
std::string Escaped(std::string_view text);
// Three digits that matter, without zeros at the end.
std::string Short(double number);

// Where a number is drawn.
struct Scale {
  double least = 0;
  double most = 1;
  double from = 0;  // pixels of `least`
  double to = 1;    // pixels of `most`

  double operator()(double value) const {
    return from + (value - least) / (most - least) * (to - from);
  }
};

// From `least` to `most` or a little more, with pixels; never empty.
Scale NiceScale(double least, double most, double from, double to);
// About `wanted` round numbers within.
std::vector<double> Ticks(const Scale& scale, int wanted);

}  // namespace reveza::phi
