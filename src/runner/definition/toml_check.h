// Keeps from toml++ 3.3 what it has no answer for: in some texts that are no TOML it comes to a
// place that it takes to be impossible. Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "runner/definition/document.h"

namespace reveza::runner {

// The first place outside of texts and comments with something that cannot be TOML there: a
// character that is not ASCII; quotes, [ or { in the middle of a word; a second = of the same key;
// a key in three quotes; or in a text, a backslash before a character that is not ASCII. Nothing:
// there is none. (Quotes behind a dot, as in a."b", are TOML, but are not taken.)
std::optional<Place> StrangePlace(std::string_view text);

}  // namespace reveza::runner
