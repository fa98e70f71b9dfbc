// What people are called and do. Constant data, safe from any thread.
#pragma once

#include <array>
#include <string_view>

namespace reveza::datagen::lists {

inline constexpr auto kFirstNamesFemale = std::to_array<std::string_view>({
#include "datagen/lists/first_names_female.inc"
});
inline constexpr auto kFirstNamesMale = std::to_array<std::string_view>({
#include "datagen/lists/first_names_male.inc"
});
inline constexpr auto kSurnames = std::to_array<std::string_view>({
#include "datagen/lists/surnames.inc"
});
inline constexpr auto kProfessions = std::to_array<std::string_view>({
#include "datagen/lists/professions.inc"
});

}  // namespace reveza::datagen::lists
