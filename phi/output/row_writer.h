// Result rows, one per run and cycle, and the interface of their writers.
//
// Writers are append-only. Rows are durable once synced; a resumed process passes the position of
// the last sync, and rows after it are truncated. Not thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace reveza::phi {

// Columns: run, cycle and hash (16 hexadecimal digits in text formats), followed by these.
struct RowLayout {
  std::vector<std::string> states;    // 32-bit floats
  std::vector<std::string> measures;  // 64-bit floats, nullable
};

inline constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

// A block of rows, by column; `states` and `measures` hold one group of values per row.
struct RowBlock {
  std::vector<std::uint32_t> run;
  std::vector<std::uint64_t> cycle;
  std::vector<std::uint64_t> hash;
  std::vector<float> states;
  std::vector<double> measures;  // kNotAvailable (NaN) becomes an empty cell or null

  void Clear() {
    run.clear();
    cycle.clear();
    hash.clear();
    states.clear();
    measures.clear();
  }
};

// How much of the output has been synced.
struct RowPosition {
  std::uint64_t bytes = 0;  // length of the text file
  std::uint64_t parts = 0;  // number of Parquet files
  std::uint64_t rows = 0;

  friend bool operator==(const RowPosition&, const RowPosition&) = default;
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual Status Append(const RowBlock& rows) = 0;
  // Makes all appended rows durable, also across a power failure, and returns the position.
  virtual Result<RowPosition> Sync() = 0;
};

}  // namespace reveza::phi
