// The output of a program that says its cycles: passed on to its file as it comes, and read.
// Part of the supervisor. Thread-safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "runner/supervisor/cycle_lines.h"

namespace reveza::runner {

class CycleTap {
 public:
  struct Cycle {
    std::uint64_t number = 0;
    std::string metrics;  // "phi=0.61 loss=0.001"
  };

  // The descriptor that the program is to write to; what comes there goes on to `file`, of which
  // a copy is kept. `file` itself when no pipe can be made.
  int Open(int file);
  // Once the program has it.
  void CloseWriter() { writer_.Reset(); }
  // What has come until now. Never waits.
  std::vector<Cycle> Read();
  void Close();
  // To poll; -1 when nothing is open.
  int descriptor() const { return reader_.get(); }

 private:
  UniqueFd reader_;
  UniqueFd writer_;
  UniqueFd file_;
  CycleLines lines_;
};

}  // namespace reveza::runner
