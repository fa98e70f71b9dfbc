// Makes the files of a plan on several threads: plan -> blocks -> batches -> writer -> file. Files
// that exist and were made from the same settings are kept, so an interrupted run can be resumed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/error.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/destination.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/plan.h"

namespace reveza::fraudgen {

struct Progress {
  uint64_t rows = 0;  // of tables whose count is known, including those in kept files
  uint64_t rows_made = 0;
  uint64_t bytes_made = 0;
  uint64_t files_made = 0;  // durable, with their manifests
  uint64_t files_kept = 0;
};

struct RunResult {
  Progress progress;
  TableTotals tables;     // of this shard
  bool stopped = false;   // on_progress returned false
  bool complete = false;  // all shards are done and manifest.json is written
};

struct RunOptions {
  TableOptions table;
  MadeBy made_by;
  std::string configuration;  // the text of kConfigurationName
  int threads = 1;
};

// Called about five times a second by the thread that called Run(). Returning false stops the run.
using OnProgress = std::function<bool(const Progress&)>;

// Makes the missing files of the plan's shard. After an error or a stop, finished files remain and
// the next run keeps them. kIncompatible: the destination contains other data.
Result<RunResult> Run(const Model& model, const Plan& plan, const RunOptions& options,
                      Destination& destination, const OnProgress& on_progress);

}  // namespace reveza::fraudgen
