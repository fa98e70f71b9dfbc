// Makes snapshots: looks at machine, GPUs, daemon and jobs, once a call.
//
// All that it asks are functions and small interfaces, so that tests give it answers and a recorded
// tree of /proc. Its cost is one file for each process of our own a call, which stays open; and in
// ten seconds, spread over the calls, one for each of the others and two more for each of our own
// that has been given memory since, or has given some back.
// Thread-safety: none; one thread owns a collector.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "monitor/job_sockets.h"
#include "monitor/snapshot.h"
#include "platform/clock.h"
#include "platform/gpu_activity.h"
#include "platform/gpu_monitor.h"
#include "platform/machine_load.h"
#include "platform/process_watch.h"

namespace reveza::monitor {

struct DaemonAnswer {
  nlohmann::json status;
  pid_t peer = 0;  // who listens; 0 when it cannot be seen from here
};

struct Sources {
  // kUnavailable or kNotFound: there is none. May be empty.
  std::function<Result<DaemonAnswer>()> daemon;
  std::function<std::vector<JobAnswer>()> jobs;  // may be empty
  platform::GpuMonitor* gpus = nullptr;
  platform::GpuActivity* activity = nullptr;
  const platform::Clock* clock = nullptr;  // never null
  std::function<double()> wall_time;       // seconds since 1970
  std::filesystem::path root = "/";
  std::size_t most_open = 256;  // files of processes that may stay open
};

class Collector {
 public:
  // Proportional memory and peaks are dear: so often, and only of our own processes. The first call
  // looks at all of them, later ones at those whose turn it is.
  static constexpr std::chrono::seconds kDearPeriod{10};
  // The same of those whose own memory is what it was: only how many share it can have changed.
  static constexpr std::chrono::seconds kStillPeriod{60};

  explicit Collector(Sources sources);

  Snapshot Collect();

 private:
  struct Dear {
    std::uint64_t start_ticks = 0;
    std::uint64_t faults = 0;
    Bytes resident = 0;
    std::chrono::nanoseconds read_at{0};
    std::optional<Bytes> proportional;
    std::optional<Bytes> peak;
  };
  struct Copied {
    Bytes out = 0;
    Bytes in = 0;
    std::uint64_t handovers = 0;
  };

  void LookAtMachine(Snapshot& snapshot);
  void LookAtDaemon(Snapshot& snapshot);
  void LookAtGpus(Snapshot& snapshot);
  void LookAtJobs(Snapshot& snapshot);
  void LookAtProcesses(Snapshot& snapshot);
  void LookDearly(const std::vector<pid_t>& own);
  bool IsAsBefore(const Dear& dear, const platform::ProcessStat& stat) const;
  // Of each running step, in the order of the jobs.
  std::vector<std::vector<pid_t>> FamiliesOf(const Snapshot& snapshot) const;
  std::vector<pid_t> OwnOf(const Snapshot& snapshot,
                           const std::vector<std::vector<pid_t>>& families) const;

  Use UseOf(std::span<const pid_t> pids);
  Use RememberPeak(pid_t root, Use use);
  std::optional<double> Rate(Bytes before, Bytes now) const;

  Sources sources_;
  platform::ProcessWatch watch_;
  std::optional<platform::CpuTicks> cpu_before_;
  std::optional<std::chrono::nanoseconds> time_before_;
  platform::InTurn dear_turns_{kDearPeriod};
  std::chrono::nanoseconds now_{0};
  double seconds_ = 0;  // since the call before; 0: there was none
  std::map<pid_t, Dear> dear_;
  std::map<pid_t, std::pair<std::uint64_t, Bytes>> peaks_;  // start, largest seen
  std::map<std::string, Copied> copied_before_;             // by GPU or client
};

}  // namespace reveza::monitor
