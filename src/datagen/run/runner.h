// Makes the files of a plan with several threads. What is there already, whole and made the same
// way, is kept, so a run that was ended goes on where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "datagen/model.h"
#include "datagen/output/manifest.h"
#include "datagen/output/table_writer.h"
#include "datagen/run/destination.h"
#include "datagen/run/plan.h"

namespace reveza::datagen {

struct Progress {
  uint64_t rows = 0;  // of tables whose count is known before, those in kept files included
  uint64_t rows_made = 0;
  uint64_t bytes_made = 0;
  uint64_t files_made = 0;  // lasting, with their manifest
  uint64_t files_kept = 0;
};

struct TableTotal {
  uint64_t files = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

struct RunResult {
  Progress progress;
  std::map<std::string_view, TableTotal> tables;  // of this shard
  bool stopped = false;                           // before the end, because it was told to
  bool complete = false;                          // all shards are there, and manifest.json
};

struct RunOptions {
  TableOptions table;
  MadeBy made_by;
  std::string configuration;  // all that was asked for, as a file for --config
  int threads = 1;
};

// Called about five times a second by the thread that called Run; false: to stop.
using OnProgress = std::function<bool(const Progress&)>;

// After an error or a stop, what was finished remains and the next run keeps it.
Result<RunResult> Run(const Model& model, const Plan& plan, const RunOptions& options,
                      Destination& destination, const OnProgress& on_progress);

}  // namespace reveza::datagen
