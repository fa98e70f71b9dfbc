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

// Returns the length of the valid UTF-8 sequence that `text`, which is not empty, begins with, or
// 0.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is above U+10FFFF.
  const unsigned second = byte(1);
  const bool valid = !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f) &&
                     !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
  return valid ? length : 0;
}

}  // namespace

std::string EscapeXml(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr std::array<std::string_view, kSpecial.size()> kEntities = {"&amp;", "&lt;", "&gt;",
                                                                       "&quot;"};
  std::string escaped;
  while (!text.empty()) {
    const char letter = text.front();
    const std::size_t length = SequenceLength(text);
    if (const auto special = kSpecial.find(letter); special != std::string_view::npos) {
      escaped += kEntities[special];
    } else if (length == 0) {
      escaped += "\ufffd";
    } else if (static_cast<unsigned char>(letter) < ' ') {
      // Control characters are not allowed in XML.
      escaped += ' ';
    } else {
      escaped += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return escaped;
}

std::string ShortName(std::string_view name, std::size_t max) {
  std::size_t characters = 0;
  std::size_t cut = 0;
  for (std::size_t at = 0; at < name.size(); ++characters) {
    if (characters + 1 == max) cut = at;
    at += std::max<std::size_t>(1, SequenceLength(name.substr(at)));
  }
  return characters <= max ? std::string(name) : std::string(name.substr(0, cut)) + "\u2026";
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
