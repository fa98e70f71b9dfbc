#include "common/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

namespace reveza {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kByteUnits = {
    Unit{"b", 1.0},      Unit{"kib", 0x1p10}, Unit{"mib", 0x1p20},
    Unit{"gib", 0x1p30}, Unit{"tib", 0x1p40}, Unit{"kb", 1e3},
    Unit{"mb", 1e6},     Unit{"gb", 1e9},     Unit{"tb", 1e12},
};
constexpr std::array kTimeUnits = {
    Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}, Unit{"min", 60e9}, Unit{"h", 3600e9},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Parses "NUMBER[ ]UNIT" and returns the product.
template <std::size_t N>
std::expected<double, std::string> ParseAmount(std::string_view text,
                                               const std::array<Unit, N>& units) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0 || text.starts_with('-')) {
    return std::unexpected(fmt::format("'{}' does not begin with a number", text));
  }
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.empty()) return std::unexpected(fmt::format("'{}' has no unit", text));
  const std::string name = Lower(rest);
  for (const Unit& unit : units) {
    if (unit.name == name) return number * unit.factor;
  }
  return std::unexpected(fmt::format("unknown unit '{}'", rest));
}

// Formats three significant digits without trailing zeros.
std::string ThreeDigits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

// Divides `value` by `factor` until it is below `limit` or in the last unit. Returns the unit's
// index.
std::size_t ScaleDown(double& value, double factor, double limit, std::size_t units) {
  std::size_t unit = 0;
  for (; value >= limit && unit + 1 < units; ++unit) value /= factor;
  return unit;
}

// Formats three significant digits with units that grow by factors of 1000.
std::string FormatDecimal(double value, std::span<const std::string_view> units) {
  const std::size_t unit = ScaleDown(value, 1000, 999.5, units.size());
  const int places = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}{}", value, places, units[unit].empty() ? "" : " ", units[unit]);
}

}  // namespace

Result<Bytes> ParseBytes(std::string_view text) {
  const auto amount = ParseAmount(text, kByteUnits);
  if (!amount) {
    return InvalidArgument(amount.error() + "; write a size such as 24GiB, 2.5GB or 512MiB");
  }
  if (*amount > 0x1p50) {
    return InvalidArgument("'{}' exceeds the maximum of 1024 TiB", text);
  }
  return static_cast<Bytes>(std::llround(*amount));
}

std::string FormatBytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> names = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  const std::size_t unit = ScaleDown(value, 1024, 1023.5, names.size());
  return fmt::format("{} {}", ThreeDigits(value), names[unit]);
}

std::string ShortBytes(Bytes bytes) {
  constexpr std::string_view units = "KMGTPE";
  if (bytes == 0) return "0";
  double value = static_cast<double>(bytes) / 1024;
  const std::size_t unit = ScaleDown(value, 1024, 999.5, units.size());
  if (value < 0.5) return "<1K";
  return fmt::format("{:.{}f}{}", value, value < 9.95 && unit > 0 ? 1 : 0, units[unit]);
}

std::string FormatSize(Bytes bytes) {
  constexpr std::array<std::string_view, 6> units = {"B", "kB", "MB", "GB", "TB", "PB"};
  return FormatDecimal(static_cast<double>(bytes), units);
}

std::string FormatTransferRate(double bytes_per_second) {
  if (bytes_per_second < 500) return "0 B/s";
  constexpr std::array<std::string_view, 4> units = {"kB/s", "MB/s", "GB/s", "TB/s"};
  double value = bytes_per_second / 1000;
  const std::size_t unit = ScaleDown(value, 1000, 999.5, units.size());
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, units[unit]);
}

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  const auto amount = ParseAmount(text, kTimeUnits);
  if (!amount) {
    return InvalidArgument(amount.error() + "; write a time such as 500ms, 30s or 2min");
  }
  if (*amount > 366.0 * 24 * 3600e9) {
    return InvalidArgument("'{}' exceeds the maximum of 366 days", text);
  }
  return std::chrono::nanoseconds(std::llround(*amount));
}

std::string FormatDuration(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds <= 0) return "0 s";
  if (seconds < 0.9995e-3) return fmt::format("{} us", ThreeDigits(seconds * 1e6));
  if (seconds < 0.9995) return fmt::format("{} ms", ThreeDigits(seconds * 1e3));
  if (seconds < 59.95) return fmt::format("{} s", ThreeDigits(seconds));
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string FormatSeconds(double seconds) {
  const double bounded = std::clamp(seconds, 0.0, 1e9);
  return FormatDuration(std::chrono::nanoseconds(static_cast<std::int64_t>(bounded * 1e9)));
}

std::string FormatCount(std::uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, 1, ',');
  return text;
}

std::string FormatScaled(double value) {
  constexpr std::array<std::string_view, 6> units = {"", "k", "M", "G", "T", "P"};
  return FormatDecimal(value, units);
}

std::string FormatPercent(double share) { return fmt::format("{:.0f} %", share * 100); }

std::string Plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace reveza
