// All rows of one table, block after block, as one file: for a pipe. By one thread.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "base/error.h"
#include "datagen/model.h"
#include "datagen/output/byte_sink.h"
#include "datagen/output/table_writer.h"
#include "datagen/run/plan.h"

namespace reveza::datagen {

struct OneFileProgress {
  uint64_t rows = 0;
  Bytes bytes = 0;
};

// After each batch; false: to stop, which is no error.
using OnOneFileProgress = std::function<bool(const OneFileProgress&)>;

// `table` is one of the model's. Finishes the sink, unless it was stopped. What was written.
Result<OneFileProgress> WriteOneFile(const Model& model, const Plan& plan, const Table& table,
                                     const TableOptions& options, ByteSink& sink,
                                     const OnOneFileProgress& on_progress);

}  // namespace reveza::datagen
