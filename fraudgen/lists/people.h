// Names and professions. Constant data.
#pragma once

#include <array>
#include <string_view>

namespace reveza::fraudgen::lists {

inline constexpr auto kFirstNamesFemale = std::to_array<std::string_view>({
#include "generated/fraudgen/lists/first_names_female.inc"
});
inline constexpr auto kFirstNamesMale = std::to_array<std::string_view>({
#include "generated/fraudgen/lists/first_names_male.inc"
});
inline constexpr auto kSurnames = std::to_array<std::string_view>({
#include "generated/fraudgen/lists/surnames.inc"
});
inline constexpr auto kProfessions = std::to_array<std::string_view>({
#include "generated/fraudgen/lists/professions.inc"
});

// Writes a name in lower case without accents, spaces and hyphens, at most as long, and returns its
// end. Accented letters of Portuguese are two bytes, the first of them C3.
inline char* PutPlainName(char* out, std::string_view name) {
  static constexpr std::string_view kPlain =
      "aaaaaaaceeeeiiiidnooooo.ouuuuyts"   // C3 80 to C3 9F
      "aaaaaaaceeeeiiiidnooooo.ouuuuyty";  // C3 A0 to C3 BF
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte == 0xC3 && i + 1 < name.size()) {
      *out++ = kPlain[static_cast<unsigned char>(name[++i]) - 0x80u];
    } else if (byte >= 'A' && byte <= 'Z') {
      *out++ = static_cast<char>(byte - 'A' + 'a');
    } else if (byte >= 'a' && byte <= 'z') {
      *out++ = static_cast<char>(byte);
    }
  }
  return out;
}

}  // namespace reveza::fraudgen::lists
