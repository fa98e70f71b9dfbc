// Collects everything that a report shows, in one pass with bounded memory, and makes its HTML
// page, a single file without external resources. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "fraudgen/report/counts.h"

namespace reveza::fraudgen::report {

struct Facts {
  Json json;             // the only input of the page
  bool stopped = false;  // by the callback; the rest is invalid
};

// Called periodically. Returning false stops.
using OnRows = std::function<bool(uint64_t rows)>;

// Reads a data set. kNotFound: no data set; other errors: a file cannot be read.
Result<Facts> CollectFacts(const std::filesystem::path& folder, const OnRows& on_rows);

enum class Language { kEnglish, kPortuguese };

// Returns one JSON object that is safe to embed in HTML: plain ASCII without '<'.
std::string ReportJson(Json facts, Language language);

// Returns false in builds without the chart library.
bool HavePage();
// Returns the page with the JSON of ReportJson(). Requires HavePage().
std::string PageWith(std::string_view json);

}  // namespace reveza::fraudgen::report
