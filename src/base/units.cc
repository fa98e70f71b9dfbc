#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

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

// A number, perhaps spaces, a unit. The product, or nothing.
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
  return std::unexpected(fmt::format("'{}' is no unit", rest));
}

// Three digits that matter, without zeros at the end.
std::string ThreeDigits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

}  // namespace

Result<Bytes> ParseBytes(std::string_view text) {
  const auto amount = ParseAmount(text, kByteUnits);
  if (!amount) {
    return Fail(Error::Code::kInvalidArgument,
                amount.error() + "; write a size such as 24GiB, 2.5GB or 512MiB");
  }
  if (*amount > 0x1p50) {
    return Fail(Error::Code::kInvalidArgument, fmt::format("'{}' is more than a petabyte", text));
  }
  return static_cast<Bytes>(std::llround(*amount));
}

std::string FormatBytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> names = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", ThreeDigits(value), names[unit]);
}

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  const auto amount = ParseAmount(text, kTimeUnits);
  if (!amount) {
    return Fail(Error::Code::kInvalidArgument,
                amount.error() + "; write a time such as 500ms, 30s or 2min");
  }
  if (*amount > 366.0 * 24 * 3600e9) {
    return Fail(Error::Code::kInvalidArgument, fmt::format("'{}' is more than a year", text));
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

}  // namespace reveza
