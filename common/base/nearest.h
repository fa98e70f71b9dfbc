// Suggestions for misspelt words. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reveza {

// Returns the name with the smallest edit distance to `word`, if that is at most 2 or a third of
// the word.
std::optional<std::string_view> Nearest(std::string_view word,
                                        std::span<const std::string_view> names);

// Returns "; did you mean 'NAME'?" to append to an error message, or "" if no name is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> names);

}  // namespace reveza
