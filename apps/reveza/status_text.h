// The daemon's status for people, at 80 columns. Thread-safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/bytes.h"

namespace reveza::cli {

// Several lines, without the last line's end.
std::string StatusText(const nlohmann::json& status);

// "[######------]" of `width` characters in all: full part, other part, rest.
std::string Bar(Bytes full, Bytes other, Bytes whole, int width);

// Cut to `width` characters, with "..." where something is missing.
std::string Shorten(const std::string& text, std::size_t width);

}  // namespace reveza::cli
