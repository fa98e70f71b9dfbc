// For tests and measurements of writers: made-up rows of any table, each a function of its number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datagen/batch.h"
#include "datagen/output/table_writer.h"
#include "datagen/schema.h"

namespace reveza::datagen {

enum class TestingTexts {
  kPlain,     // letters of many languages and digits, 1 to 100 bytes
  kAwkward,   // also empty, with quotes, separators, ends of lines and control characters
  kConstant,  // always the same, and so is every other value: to measure a writer alone
};

// A table with a column of each type, with nulls and without, and members of members.
extern const Table kTestingTable;

// Fills the batch with rows `first` up to `first` + `rows`.
void FillTestingRows(Batch& batch, uint64_t first, std::size_t rows, TestingTexts texts);

// What a writer makes of `rows` rows that come in batches of `batch_rows`.
std::string WriteTestingRows(const TableOptions& options, const Table& table, uint64_t rows,
                             std::size_t batch_rows, TestingTexts texts);

// Where two files first differ, in words; empty if they are the same. (GoogleTest would compare
// each of their lines with each other.)
std::string DifferenceOf(std::string_view left, std::string_view right);

}  // namespace reveza::datagen
