// The demo's programs as child processes. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"

namespace reveza::cli {

class DemoProgram {
 public:
  // Starts `command` with `environment` added to that of this process.
  DemoProgram(std::string name, const std::vector<std::string>& command,
              const std::map<std::string, std::string>& environment);
  DemoProgram(const DemoProgram&) = delete;
  DemoProgram& operator=(const DemoProgram&) = delete;
  ~DemoProgram();  // kills the process if it is still running

  // Waits up to `timeout` for output of any program and processes it.
  static void Poll(std::deque<DemoProgram>& programs, std::chrono::milliseconds timeout);

  bool running() const { return pid_ > 0; }
  bool succeeded() const { return !running() && exit_code_ == 0 && !hash.empty(); }

  // What the program has reported so far.
  const std::string name;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
  std::string hash;        // of its result
  double seconds = 0;      // that it ran
  std::string last_error;  // the last line on standard error other than progress

 private:
  void Read();
  void HandleLine(const std::string& line);
  void Reap();

  pid_t pid_ = -1;
  UniqueFd out_;
  UniqueFd err_;
  std::string out_text_;
  std::string err_text_;
  int exit_code_ = -1;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace reveza::cli
