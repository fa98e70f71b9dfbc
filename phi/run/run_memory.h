// Estimates the host memory of a run before it starts. Pure functions.
#pragma once

#include <optional>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// Upper bounds of the memory of a run, without its engine. Sums that overflow saturate.
struct RunMemory {
  Bytes states = 0;    // copies for checkpoints and hashes
  Bytes measures = 0;  // recent samples of all runs
  Bytes rows = 0;      // unwritten output: observations, text, rows of a Parquet part
};

RunMemory MemoryOf(const RunSettings& settings);

// Returns kExhausted if the run and the `engine` bytes of its engine exceed `available`; the
// message breaks down the requirement and says what to reduce. Passes if `available` is unknown.
Status CheckMemory(const RunSettings& settings, Bytes engine, std::optional<Bytes> available);

}  // namespace reveza::phi
