// Rejects invalid TOML on which toml++ 3.3 fails an assertion instead of reporting an error. A pure
// function.
#pragma once

#include <optional>
#include <string_view>

#include "common/settings/document.h"

namespace reveza {

// Returns the first location, outside strings and comments, of a non-ASCII character; of quotes, [
// or { in the middle of a word; of a second = for one key; of a triple-quoted key; or, in a string,
// of a backslash before a non-ASCII character. nullopt: none found. (Quoted keys after a dot, as
// in a."b", are valid TOML but also rejected.)
std::optional<SourceLocation> FindUnsupportedToml(std::string_view text);

}  // namespace reveza
