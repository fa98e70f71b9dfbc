// What somebody may have meant by a word that nobody knows. A pure function.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reveza {

// The one of `names` that is nearest to `word`, when it is near at all.
std::optional<std::string_view> Nearest(std::string_view word,
                                        std::span<const std::string_view> names);

// "; did you mean 'size'?", to be put behind what is wrong; empty where none is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> names);

}  // namespace reveza
