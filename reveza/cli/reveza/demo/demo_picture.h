// The demo's output: the live picture and the final table. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/bytes.h"

namespace reveza::cli {

struct DemoRow {
  std::string name;
  std::string state;  // "on the GPU", "waiting", "done"
  Bytes resident = 0;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
};

struct DemoResult {
  std::string device;
  bool real_gpu = false;
  Bytes card = 0;  // GPU memory that the programs share
  Bytes each = 0;  // GPU memory of one program
  struct Program {
    std::string name;
    double alone = 0;
    double together = 0;
    bool same = false;
  };
  std::vector<Program> programs;
  double all_alone = 0;
  double all_together = 0;
  Bytes moved_out = 0;
  Bytes moved_in = 0;
  std::uint64_t handovers = 0;
  bool AllSame() const;  // every program computed the same result in both acts
  double Ratio() const { return all_alone > 0 ? all_together / all_alone : 0; }
};

// Returns the GPU's memory as one bar, a letter per program, and a line for each program. `color`
// adds ANSI colours.
std::string Picture(const std::vector<DemoRow>& rows, Bytes card, double seconds, bool color);
// Returns the same in one line, for logs.
std::string PlainLine(const std::vector<DemoRow>& rows, double seconds);

std::string ResultTable(const DemoResult& result);
nlohmann::json ResultJson(const DemoResult& result);

// Returns "== title ======...", 78 characters long.
std::string TitleLine(const std::string& title);

}  // namespace reveza::cli
