// The pages of docs/doctor/, as they were when the program was built.
// Thread-safety: constants.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace reveza::doctor {

struct Page {
  std::string_view id;
  std::string_view text;  // Markdown
};

std::span<const Page> AllPages();  // by id
std::optional<std::string_view> FindPage(std::string_view id);

}  // namespace reveza::doctor
