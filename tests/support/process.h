// A child process of a test: started, watched, killed, waited for, never left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reveza::testing {

using Environment = std::map<std::string, std::string>;

struct Ended {
  int status = -1;  // exit status, or 128 + signal as a shell says it
  std::string output;
  std::string complaint;  // stderr

  // The text or number behind "key": in the last JSON line; "" when there is none.
  std::string Field(const std::string& key) const;
};

class Process {
 public:
  // `log`: a path prefix; stdout goes to <log>.out, stderr to <log>.err.
  Process(const std::vector<std::string>& command, const Environment& environment,
          const std::string& log);
  // Kills it if it still runs.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  bool Running();
  void Signal(int number) const;
  // Waits for the end. Nothing: it still runs after `limit` (and goes on).
  std::optional<Ended> Wait(std::chrono::seconds limit = std::chrono::seconds(90));
  // What it has written so far.
  std::string Output() const;
  std::string Complaint() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int wait_status_ = 0;
  std::string log_;
};

}  // namespace reveza::testing
