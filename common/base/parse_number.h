// Parses numbers strictly. Header only; a pure function.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace reveza {

// Returns the number that the whole text denotes, as std::from_chars reads it: no blanks, no plus.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace reveza
