// Formats snapshots as JSON and CSV. Unavailable values are null in JSON and empty in CSV.
//
// The JSON has "version": 1; within a version fields may be added but do not change their meaning.
// docs/top.md describes them. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

nlohmann::ordered_json ToJson(const Snapshot& snapshot);

// Formats one line per row of the table, with LF line ends and quoting where needed.
// Returns the text as a field of RFC 4180.
std::string QuoteCsv(std::string_view text);
std::string CsvHeading();
std::string CsvRows(const Snapshot& snapshot);

}  // namespace reveza::monitor
