#include "doctor/pages.h"

#include <algorithm>

namespace reveza::doctor {
namespace {

constexpr Page kPages[] = {
#include "generated/doctor/pages.inc"
};

}  // namespace

std::span<const Page> AllPages() { return kPages; }

std::optional<std::string_view> FindPage(std::string_view id) {
  const auto page = std::ranges::find(kPages, id, &Page::id);
  if (page == std::end(kPages)) return std::nullopt;
  return page->text;
}

}  // namespace reveza::doctor
