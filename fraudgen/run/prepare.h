// The first half of a run: settings -> rows -> model -> plan. The second half, plan -> blocks ->
// batches -> files, is runner.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/error.h"
#include "fraudgen/model/defects/defect_plan.h"
#include "fraudgen/model/model.h"
#include "fraudgen/run/plan.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen {

// Called periodically by the calling thread with the blocks counted so far and the number of
// blocks; both are 0 while a size is being estimated. Returning false stops the preparation.
using OnPreparing = std::function<bool(uint64_t done, uint64_t total)>;

struct PreparedModel {
  uint64_t rows = 0;
  Settings settings;  // resolved, see Settings::Resolved
  std::unique_ptr<Model> model;
};

struct PreparedRun : PreparedModel {
  Plan plan;

  // Returns what Run() needs beside the model, the plan and the destination.
  RunOptions Options(int threads) const;
};

// Determines the number of rows (counting or estimating them on `threads` threads where the
// settings do not give it), makes the model and plans its files. kUnavailable: stopped.
Result<PreparedRun> PrepareRun(const Settings& settings, Shard shard, int threads,
                               const OnPreparing& on_preparing);

// Makes the model of rows that are handed over without files. Does not count the rows of growing
// data: `rows` is 0.
Result<PreparedModel> PrepareRows(const Settings& settings, const OnPreparing& on_preparing);

// Makes the base model of a stream, without defects: they are applied to the events. A stream
// starts at once, so without rows or a size it has 1,000,000 rows, and the rows of growing data are
// counted only if defects need the count; otherwise `rows` is an estimate.
Result<PreparedModel> PrepareStream(const Settings& settings, int threads,
                                    const OnPreparing& on_preparing);

// Returns the model of `rows` transactions, rides or both. kInvalidArgument: the settings do not
// fit the model.
Result<std::unique_ptr<Model>> MakeModel(const Settings& settings, uint64_t rows);

DefectOptions DefectsOf(const Settings& settings);

// Parquet's "created_by" metadata.
std::string_view CreatedBy();

}  // namespace reveza::fraudgen
