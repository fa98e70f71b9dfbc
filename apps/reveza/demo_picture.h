// What the demo draws: who is in the card now, how far each program is, and the table at the end.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace reveza::cli {

struct DemoRow {
  std::string name;
  std::string state;  // "in the card", "waits", "done"
  Bytes resident = 0;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
};

struct DemoResult {
  std::string device;
  bool real_gpu = false;
  Bytes card = 0;  // that the programs share
  Bytes each = 0;  // of one program
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
  bool Same() const;
  double Ratio() const { return all_alone > 0 ? all_together / all_alone : 0; }
};

// The card as one bar, a letter per program, and a line for each; each line ends. `color`: with
// the terminal's colours.
std::string Picture(const std::vector<DemoRow>& rows, Bytes card, double seconds, bool color);
// The same in one line, for logs.
std::string PlainLine(const std::vector<DemoRow>& rows, double seconds);

std::string ResultTable(const DemoResult& result);
nlohmann::json ResultJson(const DemoResult& result);

// "== title ======..." of 78 characters.
std::string TitleLine(const std::string& title);

}  // namespace reveza::cli
