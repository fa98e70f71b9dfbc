// Writes the first run in the layout of OmniMind's scientific validation file: the same keys, null
// for values that phi does not compute. Thread-safe: functions without shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/error.h"
#include "phi/cycles/model.h"
#include "phi/output/appended_file.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// Returns the record of one cycle as a line of JSON. `value` is phi_legacy or kNotAvailable.
std::string LegacyRecordText(const RunSettings& settings, std::uint64_t cycle,
                             const Observation& observation, double value, const std::string& time);

// Returns the path of the records, legacy-records.jsonl in the output folder.
std::filesystem::path LegacyRecordsPath(const RunSettings& settings);

// Writes settings.legacy_json from the records. Returns kIncompatible if records are missing.
Status WriteLegacyJson(const RunSettings& settings, const std::string& started,
                       const std::string& ended);

}  // namespace reveza::phi
