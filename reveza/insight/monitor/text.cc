#include "reveza/insight/monitor/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace reveza::monitor {
namespace {

// Returns the number of continuation bytes for a UTF-8 lead byte; -1 if invalid.
int ContinuationBytes(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xc2 && lead < 0xe0) return 1;
  if (lead >= 0xe0 && lead < 0xf0) return 2;
  if (lead >= 0xf0 && lead < 0xf5) return 3;
  return -1;
}

bool IsSingleCell(char32_t letter) {
  if (letter < 0x20 || (letter >= 0x7f && letter < 0xa0) || letter == 0xad) return false;
  if (letter >= 0x300 && letter < 0x370) return false;  // combining
  if (letter < 0x500) return true;                      // Latin, Greek, Cyrillic
  // Punctuation without bidirectional control marks; box drawing and block elements.
  if (letter >= 0x2010 && letter < 0x2028) return true;
  if (letter >= 0x2030 && letter < 0x205f) return true;
  return letter >= 0x2500 && letter < 0x25a0;
}

}  // namespace

std::string ShortAge(std::optional<double> seconds) {
  if (!seconds) return std::string(kNotAvailable);
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  const auto whole = static_cast<std::int64_t>(std::clamp(*seconds, 0.0, 9e8));
  if (whole < kMinute) return fmt::format("{}s", whole);
  if (whole < kHour) return fmt::format("{}m{:02}", whole / kMinute, whole % kMinute);
  if (whole < kDay) return fmt::format("{}h{:02}", whole / kHour, whole % kHour / kMinute);
  return fmt::format("{}d", whole / kDay);
}

std::string Bar(double used, double other, double whole, int width) {
  const int inner = std::max(width - 2, 1);
  const auto part = [&](double value) {
    if (!(whole > 0)) return 0;
    return static_cast<int>(std::lround(std::clamp(value / whole, 0.0, 1.0) * inner));
  };
  const int first = part(used);
  const int both = std::max(first, part(used + other));
  return fmt::format("[{:#<{}}{:x<{}}{:-<{}}]", "", first, "", both - first, "", inner - both);
}

std::u32string SanitizeForTerminal(std::string_view text) {
  std::u32string letters;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    const int continuation = ContinuationBytes(lead);
    constexpr std::array<unsigned, 4> mask = {0x7f, 0x1f, 0x0f, 0x07};
    char32_t letter = continuation < 0 ? 0 : lead & mask[static_cast<std::size_t>(continuation)];
    bool valid = continuation >= 0;
    for (int more = 0; more < continuation && valid; ++more) {
      const auto next = i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
      valid = (next & 0xc0) == 0x80;
      if (!valid) break;
      letter = letter << 6 | (next & 0x3f);
      ++i;
    }
    letters.push_back(valid && IsSingleCell(letter) ? letter : U'?');
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
