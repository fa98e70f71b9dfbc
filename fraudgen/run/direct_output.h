// Rows that go to the user without files of a data set: all rows of a table to a pipe, or the first
// rows of each table as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/plan.h"
#include "fraudgen/run/runner.h"

namespace reveza::fraudgen {

// Writes all rows of `table`, one of the model's, as one file, block by block, and finishes the
// sink. Calls `on_progress` after each batch. kUnavailable: it returned false.
Status WriteOneFile(const Model& model, const Plan& plan, const Table& table,
                    const TableOptions& options, ByteSink& sink, const OnProgress& on_progress);

// Writes the first `rows` rows of `table`, of the first block, as one file.
Status WriteFirstRows(const Model& model, const Table& table, std::size_t rows,
                      const TableOptions& options, ByteSink& sink);

// Returns the model's table of that name. kInvalidArgument lists its tables.
Result<const Table*> FindTable(const Model& model, std::string_view name);

struct TableSample {
  const Table* table = nullptr;
  std::vector<std::vector<std::string>> rows;  // a null is "null"
};

// Returns at most `rows` rows of each table, from the first block.
Result<std::vector<TableSample>> Sample(const Model& model, std::size_t rows);

}  // namespace reveza::fraudgen
