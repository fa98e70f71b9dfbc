// What the original program wrote of a run (its scientific validation file), from the first run of
// ours: the same keys, null where we compute no such thing.
// Thread-safety: pure functions; a LegacyRecords is for one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "phi/cycles/model.h"
#include "phi/output/appended_file.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// The record of one cycle, as a line of JSON. `value` is phi_legacy, perhaps kNotAvailable.
std::string LegacyRecordText(const RunSettings& settings, std::uint64_t cycle,
                             const Observation& observation, double value, const std::string& time);

// Records are kept beside the rows (legacy-records.jsonl of the folder).
std::filesystem::path LegacyRecordsPath(const RunSettings& settings);

// Makes the file of the records that there are, in one pass, without holding them in memory.
Status WriteLegacyJson(const RunSettings& settings, const std::string& started,
                       const std::string& ended);

}  // namespace reveza::phi
