// Figures as a table shows them, short; and texts of others made safe for a terminal.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace reveza::monitor {

inline constexpr std::string_view kNotAvailable = "n/a";

// At most five characters: "0", "812K", "1.5G", "24G".
std::string ShortBytes(std::optional<Bytes> bytes);
// "1.2 GB/s": decimal, as links are measured.
std::string ShortRate(std::optional<double> bytes_per_second);
// Of 0 to 1: "78 %".
std::string Percent(std::optional<double> share);
std::string Count(std::optional<std::uint64_t> count);
// "250 ms", "3 min 5 s".
std::string Seconds(std::optional<double> seconds);

// UTF-8 as letters that take one cell each. Control characters, among them those that begin
// sequences for terminals, wide and combining letters and broken UTF-8 become '?'.
std::u32string OneCellEach(std::string_view text);
std::string ToUtf8(std::u32string_view letters);

}  // namespace reveza::monitor
