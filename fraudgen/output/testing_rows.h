// Synthetic rows of any table for tests and benchmarks of writers, each a function of its number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

enum class TestingTexts {
  kPlain,     // letters and digits, 1 to 100 bytes
  kAwkward,   // also empty, quotes, separators, line breaks and control characters
  kConstant,  // constant values, to benchmark the writer alone
};

// A table with nullable and non-nullable columns of each type, and nested members.
extern const Table kTestingTable;

// Fills the batch with rows `first` up to `first` + `rows`.
void FillTestingRows(Batch& batch, uint64_t first, std::size_t rows, TestingTexts texts);

// Returns the file that a writer makes of `rows` rows in batches of `batch_rows`.
std::string WriteTestingRows(const TableOptions& options, const Table& table, uint64_t rows,
                             std::size_t batch_rows, TestingTexts texts);

// Describes the first difference of two files; "" if equal. (GoogleTest's line diff is quadratic.)
std::string DifferenceOf(std::string_view left, std::string_view right);

}  // namespace reveza::fraudgen
