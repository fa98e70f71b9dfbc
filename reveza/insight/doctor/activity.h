// Samples the threads of a process: how many are runnable, how many wait. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "common/platform/process_limits.h"
#include "reveza/insight/doctor/finding.h"

namespace reveza::doctor {

struct Activity {
  unsigned samples = 0;
  double runnable = 0;   // runnable threads, averaged over the samples
  unsigned busy = 0;     // threads that used CPU time
  unsigned waiting = 0;  // threads with at least 20 voluntary context switches per second
  double cpus = 0;       // CPU time per wall time
};

class ActivitySampler {
 public:
  // Adds a sample taken at `now`, which must increase.
  void Add(const std::vector<platform::ThreadState>& threads, std::chrono::nanoseconds now);
  // Returns nullopt before the second sample.
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

// Samples a process for one second.
std::optional<Activity> WatchThreads(pid_t pid, const std::filesystem::path& root = "/");

// Diagnoses the signature of Python's global interpreter lock, one runnable thread while many wait,
// and more runnable threads than CPUs. `name` is the process, `share` the CPUs that it may use.
// Pure functions.
Finding DiagnoseGil(const std::string& name, const Activity& activity, double share);
Finding DiagnoseOversubscription(const std::string& name, const Activity& activity, double share);

}  // namespace reveza::doctor
