// The HTML page of a report, a single file without external resources. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace reveza::fraudgen::report {

// Returns false in builds without the chart library.
bool HavePage();
// Returns the page with the JSON of ReportJson(). Requires HavePage().
std::string PageWith(std::string_view json);

}  // namespace reveza::fraudgen::report
