// A snapshot for programs: JSON, and CSV. What is not available is null, and an empty field.
//
// The JSON has "version": 1; fields may be added, none changes its meaning within a version.
// docs/top.md lists them. Thread-safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "monitor/snapshot.h"

namespace reveza::monitor {

nlohmann::ordered_json ToJson(const Snapshot& snapshot);

// One row for each line of the table, CRLF-free, quoted where it must be.
std::string CsvHeading();
std::string CsvRows(const Snapshot& snapshot);

}  // namespace reveza::monitor
