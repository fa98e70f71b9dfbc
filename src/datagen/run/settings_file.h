// The part of TOML that settings need: comments, [sections], and a key with one value a line. Any
// TOML reader reads what this one does. A pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reveza::datagen {

struct FileSetting {
  std::size_t line = 0;
  std::string key;  // section.key
  std::string value;
};

// `name` is how messages call the file.
Result<std::vector<FileSetting>> ReadSettingsFile(std::string_view text, std::string_view name);

}  // namespace reveza::datagen
