// How much host memory a run takes, known before it begins.
// Thread-safety: pure functions.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// Of a run beside its engine, at most. What no machine has is the greatest number.
struct RunMemory {
  Bytes states = 0;    // copies, for checkpoints and hashes
  Bytes measures = 0;  // what the measures remember of all runs
  Bytes rows = 0;  // what waits to be written: observations, text, the rows of a part of Parquet
};

RunMemory MemoryOf(const RunSettings& settings);

// Refuses a run (kExhausted) that takes, with the `engine`'s host memory, more than `room`, and
// says how much each takes and what to take less of. Nothing is refused where `room` is not known.
Status CheckMemory(const RunSettings& settings, Bytes engine, std::optional<Bytes> room);

}  // namespace reveza::phi
