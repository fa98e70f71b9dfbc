// What the threads of a process do over a while: how many want to run, how many only wait.
// Thread-safety: none; one thread owns a sampler.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "doctor/finding.h"
#include "platform/process_threads.h"

namespace reveza::doctor {

struct Activity {
  unsigned samples = 0;
  double runnable = 0;   // threads that run or want to, on average over the samples
  unsigned busy = 0;     // threads that used CPU time
  unsigned waiting = 0;  // threads that woke and waited again at least 20 times a second
  double cpus = 0;       // CPU time per time
};

class ActivitySampler {
 public:
  // `now`: since any fixed origin, growing.
  void Add(const std::vector<platform::ThreadState>& threads, std::chrono::nanoseconds now);
  // Nothing before the second sample.
  std::optional<Activity> Result() const;

 private:
  struct Thread {
    platform::ThreadState first;
    platform::ThreadState last;
  };
  std::map<pid_t, Thread> threads_;
  std::uint64_t runnable_ = 0;
  unsigned samples_ = 0;
  std::chrono::nanoseconds begin_{0};
  std::chrono::nanoseconds end_{0};
};

// Samples for a second.
std::optional<Activity> WatchThreads(pid_t pid, const std::filesystem::path& root = "/");

// One thread busy, many waiting: what Python's lock looks like. Pure functions. `called`: the
// process; `share`: the CPUs that it may use.
Finding JudgeLock(const std::string& called, const Activity& activity, double share);
Finding JudgeLoad(const std::string& called, const Activity& activity, double share);

}  // namespace reveza::doctor
