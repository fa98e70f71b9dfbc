// The first rows of each table, as texts. A pure function.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "datagen/model.h"

namespace reveza::datagen {

struct TableSample {
  const Table* table = nullptr;
  std::vector<std::vector<std::string>> rows;  // a null is "null"
};

// At most `rows` of the first block of each table.
Result<std::vector<TableSample>> Sample(const Model& model, std::size_t rows);

}  // namespace reveza::datagen
