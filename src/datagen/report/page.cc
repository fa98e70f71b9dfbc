#include "datagen/report/page.h"

// page_bytes.S
extern "C" const char reveza_report_page_begin[];
extern "C" const char reveza_report_page_end[];

namespace reveza::datagen::report {

bool HavePage() { return true; }

std::string PageWith(std::string_view island) {
  constexpr std::string_view kMark = "@FACTS@";
  const std::string_view page(reveza_report_page_begin, reveza_report_page_end);
  const std::size_t mark = page.find(kMark);
  std::string whole;
  whole.reserve(page.size() + island.size());
  whole += page.substr(0, mark);
  whole += island;
  whole += page.substr(mark + kMark.size());
  return whole;
}

}  // namespace reveza::datagen::report
