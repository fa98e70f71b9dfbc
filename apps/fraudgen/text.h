// What people read: numbers, columns, the line that shows how far it is. Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace reveza::fraudgen {

// "2,000,000"
std::string FormatCount(uint64_t count);
// "1.25 M", "350 k", "12": three digits that matter.
std::string FormatRate(double per_second);
// "9.98 GB", "131 MB", "12 kB": powers of ten, as files are sold.
std::string FormatSize(Bytes bytes);

enum class Align { kLeft, kRight };

struct TextTable {
  std::vector<std::string> head;
  std::vector<Align> align;  // one for each column
  std::vector<std::vector<std::string>> rows = {};
};

// Each column as wide as its widest cell, two blanks between them, `indent` blanks before.
std::string Render(const TextTable& table, std::size_t indent);

struct Moment {
  uint64_t rows = 0;  // done, of all
  uint64_t all_rows = 0;
  uint64_t rows_made = 0;  // by this run
  Bytes bytes_made = 0;
  std::chrono::duration<double> elapsed{0};
  Bytes memory = 0;
};

// "45 %  7.2 M rows  1.1 M rows/s  70 MB/s  12 s left  149 MB of memory"
std::string ProgressText(const Moment& moment);
// The same behind a bar, not wider than so many characters; where there is little room without the
// memory, then without the bar.
std::string ProgressBar(const Moment& moment, std::size_t width);

}  // namespace reveza::fraudgen
