// A child process of a test. The destructor kills it if it still runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reveza::testing {

using Environment = std::map<std::string, std::string>;

struct ProcessResult {
  int status = -1;           // exit status, or 128 + the signal's number
  std::string output;        // stdout
  std::string error_output;  // stderr

  // Returns the last value of `key` in the JSON lines of `output`, or "" if there is none.
  std::string Field(const std::string& key) const;
};

class Process {
 public:
  // Starts `command`. Writes its stdout to `log`.out and its stderr to `log`.err.
  Process(const std::vector<std::string>& command, const Environment& environment,
          const std::string& log);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  bool Running();
  void Signal(int number) const;
  // Waits for exit. Returns nullopt if the process still runs after `limit`.
  std::optional<ProcessResult> Wait(std::chrono::seconds limit = std::chrono::seconds(90));
  // What the process has written so far.
  std::string Output() const;
  std::string ErrorOutput() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int wait_status_ = 0;
  std::string log_;
};

}  // namespace reveza::testing
