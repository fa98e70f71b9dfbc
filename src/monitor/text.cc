#include "monitor/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/units.h"

namespace reveza::monitor {
namespace {

// From the lead byte: how many bytes follow, and the bits that it holds itself; -1: none.
int Following(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xc2 && lead < 0xe0) return 1;
  if (lead >= 0xe0 && lead < 0xf0) return 2;
  if (lead >= 0xf0 && lead < 0xf5) return 3;
  return -1;
}

bool TakesOneCell(char32_t letter) {
  if (letter < 0x20 || (letter >= 0x7f && letter < 0xa0) || letter == 0xad) return false;
  if (letter >= 0x300 && letter < 0x370) return false;  // combining
  if (letter < 0x500) return true;                      // Latin, Greek, Cyrillic
  // Punctuation without the invisible marks that turn the direction of text; boxes and blocks.
  if (letter >= 0x2010 && letter < 0x2028) return true;
  if (letter >= 0x2030 && letter < 0x205f) return true;
  return letter >= 0x2500 && letter < 0x25a0;
}

}  // namespace

std::string ShortBytes(std::optional<Bytes> bytes) {
  if (!bytes) return std::string(kNotAvailable);
  constexpr std::array units = {'K', 'M', 'G', 'T', 'P', 'E'};
  if (*bytes == 0) return "0";
  double value = static_cast<double>(*bytes) / 1024;
  std::size_t unit = 0;
  // 999.6 would be written with four digits.
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1024;
  const int digits = value < 9.95 && unit > 0 ? 1 : 0;
  // Less than a half would read as nothing.
  if (value < 0.5) return "<1K";
  return fmt::format("{:.{}f}{}", value, digits, units[unit]);
}

std::string ShortRate(std::optional<double> rate) {
  if (!rate) return std::string(kNotAvailable);
  if (*rate < 500) return "0 B/s";
  constexpr std::array units = {"kB/s", "MB/s", "GB/s", "TB/s"};
  double value = *rate / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, units[unit]);
}

std::string Percent(std::optional<double> share) {
  return share ? fmt::format("{:.0f} %", *share * 100) : std::string(kNotAvailable);
}

std::string Count(std::optional<std::uint64_t> count) {
  return count ? std::to_string(*count) : std::string(kNotAvailable);
}

std::string Seconds(std::optional<double> seconds) {
  if (!seconds) return std::string(kNotAvailable);
  constexpr double most = 1e9;  // of seconds: thirty years
  const double bounded = std::clamp(*seconds, 0.0, most);
  return FormatDuration(std::chrono::nanoseconds(static_cast<std::int64_t>(bounded * 1e9)));
}

std::u32string OneCellEach(std::string_view text) {
  std::u32string letters;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    const int following = Following(lead);
    constexpr std::array<unsigned, 4> mask = {0x7f, 0x1f, 0x0f, 0x07};
    char32_t letter = following < 0 ? 0 : lead & mask[static_cast<std::size_t>(following)];
    bool whole = following >= 0;
    for (int more = 0; more < following && whole; ++more) {
      const auto next = i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
      whole = (next & 0xc0) == 0x80;
      if (!whole) break;
      letter = letter << 6 | (next & 0x3f);
      ++i;
    }
    letters.push_back(whole && TakesOneCell(letter) ? letter : U'?');
  }
  return letters;
}

std::string ToUtf8(std::u32string_view letters) {
  std::string text;
  for (const char32_t letter : letters) {
    if (letter < 0x80) {
      text += static_cast<char>(letter);
    } else if (letter < 0x800) {
      text += static_cast<char>(0xc0 | letter >> 6);
      text += static_cast<char>(0x80 | (letter & 0x3f));
    } else {
      text += static_cast<char>(0xe0 | (letter >> 12 & 0x0f));
      text += static_cast<char>(0x80 | (letter >> 6 & 0x3f));
      text += static_cast<char>(0x80 | (letter & 0x3f));
    }
  }
  return text;
}

}  // namespace reveza::monitor
