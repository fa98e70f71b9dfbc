#include "phi/plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace reveza::phi {
namespace {

// Returns 1, 2 or 5 times a power of ten, of which about `wanted` fit into `span`.
double StepOf(double span, int wanted) {
  const double raw = span / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string EscapeXml(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr std::array<std::string_view, kSpecial.size()> kEntities = {"&amp;", "&lt;", "&gt;",
                                                                       "&quot;"};
  std::string escaped;
  for (const char letter : text) {
    if (const auto special = kSpecial.find(letter); special != std::string_view::npos) {
      escaped += kEntities[special];
    } else {
      // Control characters are not allowed in XML.
      escaped += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return escaped;
}

std::string FormatShort(double number) {
  if (number == 0) return "0";
  return fmt::format("{:.3g}", number);
}

Scale NiceScale(double min, double max, double from, double to) {
  if (!(max > min)) {
    const double room = min == 0 ? 1 : std::abs(min) / 2;
    min -= min == 0 ? 0 : room;
    max += room;
  }
  const double step = StepOf(max - min, 5);
  return {std::floor(min / step + 1e-9) * step, std::ceil(max / step - 1e-9) * step, from, to};
}

std::vector<double> Ticks(const Scale& scale, int wanted) {
  const double step = StepOf(scale.max - scale.min, wanted);
  std::vector<double> ticks;
  const double first = std::ceil(scale.min / step - 1e-9);
  for (double i = first; i * step <= scale.max + step * 1e-9; ++i) {
    // Multiply instead of adding up, which would drift; avoid -0.
    ticks.push_back(i == 0 ? 0 : i * step);
  }
  return ticks;
}

}  // namespace reveza::phi
