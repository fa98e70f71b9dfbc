// A table as an Apache Parquet file: one page per column and group of rows, encoded plainly and not
// compressed, which any reader of Parquet opens. It is small enough to be written without a
// library.
#pragma once

#include <cstddef>
#include <string>

#include "reveza/jobs/report/step_table.h"

namespace reveza::jobs {

// Returns the bytes of the file. Every column is optional; null is null. A column is INT64 if all
// its values are integers, DOUBLE if all are numbers, else UTF-8 text. Text counts as the number it
// denotes, since parameters are text, unless a column has one that a number would change ("007").
std::string ParquetFile(const StepTable& table, std::size_t rows_per_group = 65536);

}  // namespace reveza::jobs
