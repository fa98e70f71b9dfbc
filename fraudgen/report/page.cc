#include "fraudgen/report/page.h"

// page_bytes.S
extern "C" const char reveza_report_page_begin[];
extern "C" const char reveza_report_page_end[];

namespace reveza::fraudgen::report {
namespace {

// Empty in builds without the chart library.
std::string_view Page() { return {reveza_report_page_begin, reveza_report_page_end}; }

}  // namespace

bool HavePage() { return !Page().empty(); }

std::string PageWith(std::string_view json) {
  constexpr std::string_view kMark = "@FACTS@";
  std::string whole(Page());
  whole.replace(whole.find(kMark), kMark.size(), json);
  return whole;
}

}  // namespace reveza::fraudgen::report
