#include "phi/plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace reveza::phi {
namespace {

// 1, 2 or 5 times a power of ten, so that about `wanted` of them fit.
double StepOf(double span, int wanted) {
  const double raw = span / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // Control characters are not allowed in XML.
        escaped += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return escaped;
}

std::string Short(double number) {
  if (number == 0) return "0";
  return fmt::format("{:.3g}", number);
}

Scale NiceScale(double least, double most, double from, double to) {
  if (!(most > least)) {
    const double room = least == 0 ? 1 : std::abs(least) / 2;
    least -= least == 0 ? 0 : room;
    most += room;
  }
  const double step = StepOf(most - least, 5);
  return {std::floor(least / step + 1e-9) * step, std::ceil(most / step - 1e-9) * step, from, to};
}

std::vector<double> Ticks(const Scale& scale, int wanted) {
  const double step = StepOf(scale.most - scale.least, wanted);
  std::vector<double> ticks;
  const double first = std::ceil(scale.least / step - 1e-9);
  for (double i = first; i * step <= scale.most + step * 1e-9; ++i) {
    // Sums of steps would drift; 0 is 0.
    ticks.push_back(i == 0 ? 0 : i * step);
  }
  return ticks;
}

}  // namespace reveza::phi
