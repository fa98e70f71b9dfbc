// Amounts as people write them: "24GiB", "2.5GB", "512MiB", "90s", "250ms".
// Thread-safety: pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace reveza {

// A number and a unit: B, KiB, MiB, GiB, TiB (powers of two) or kB, MB, GB, TB (powers of ten),
// in any case. A number without a unit is refused, because it is a mistake more often than bytes.
Result<Bytes> ParseBytes(std::string_view text);

// "24 GiB", "1.5 GiB", "64 MiB", "0 B": three digits that matter, never more.
std::string FormatBytes(Bytes bytes);

// A number and a unit: us, ms, s, min, h.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// "250 ms", "1.2 s", "3 min 5 s", "2 h 10 min".
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace reveza
