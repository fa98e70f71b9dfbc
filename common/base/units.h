// Parses sizes and durations ("24GiB", "2.5GB", "90s", "250ms"), and formats numbers for people.
// Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/error.h"

namespace reveza {

// Parses a number and a unit: B, KiB, MiB, GiB, TiB (powers of two) or kB, MB, GB, TB (powers of
// ten), case-insensitive. A unit is required: a bare number is usually a mistake.
Result<Bytes> ParseBytes(std::string_view text);

// Formats with at most three significant digits: "24 GiB", "1.5 GiB", "64 MiB", "0 B".
std::string FormatBytes(Bytes bytes);
// Formats as at most five characters: "0", "812K", "1.5G", "24G" (powers of two).
std::string ShortBytes(Bytes bytes);
// Formats three significant digits in powers of ten: "9.98 GB", "131 MB", "12 kB".
std::string FormatSize(Bytes bytes);
// Formats two significant digits in powers of ten: "1.2 GB/s".
std::string FormatTransferRate(double bytes_per_second);

// Parses a number and a unit: us, ms, s, min or h.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// Formats as "250 ms", "1.2 s", "3 min 5 s" or "2 h 10 min".
std::string FormatDuration(std::chrono::nanoseconds duration);
// Likewise; clamps to 0 to 1e9 s.
std::string FormatSeconds(double seconds);

std::string FormatCount(std::uint64_t count);  // "2,000,000"
std::string FormatScaled(double value);        // "1.25 M", "350 k", "12"
std::string FormatPercent(double share);       // "78 %" for 0.784
// Returns "1 step", "3 steps".
std::string Plural(std::uint64_t count, std::string_view noun);

}  // namespace reveza
