// The demo's programs as child processes: started, listened to, ended.
// Thread-safety: none.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace reveza::cli {

class DemoProgram {
 public:
  // `environment` is added to ours. In the child, descriptors of ours are closed.
  DemoProgram(std::string name, const std::vector<std::string>& command,
              const std::map<std::string, std::string>& environment);
  DemoProgram(DemoProgram&& other) noexcept;
  DemoProgram& operator=(DemoProgram&&) = delete;
  ~DemoProgram();  // ends a process that still runs

  // Reads what it said, waits up to `limit` for more. All programs at once.
  static void Listen(std::vector<DemoProgram>& programs, std::chrono::milliseconds limit);

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }
  bool succeeded() const { return !running() && exit_code_ == 0 && !hash_.empty(); }
  std::uint64_t step() const { return step_; }
  std::uint64_t steps() const { return steps_; }
  const std::string& hash() const { return hash_; }
  double seconds() const { return seconds_; }
  // What it said last on stderr, for when it failed.
  const std::string& last_words() const { return last_words_; }

 private:
  void Read();
  void OnLine(const std::string& line);
  void Reap();

  std::string name_;
  pid_t pid_ = -1;
  UniqueFd out_;
  UniqueFd err_;
  std::string out_text_;
  std::string err_text_;
  std::string last_words_;
  std::string hash_;
  std::uint64_t step_ = 0;
  std::uint64_t steps_ = 0;
  int exit_code_ = -1;
  std::chrono::steady_clock::time_point began_;
  double seconds_ = 0;
};

}  // namespace reveza::cli
