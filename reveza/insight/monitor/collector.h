// Collects snapshots of the machine, GPUs, daemon and jobs.
//
// All sources are functions and small interfaces, so that tests can supply answers and a recorded
// /proc. Each snapshot reads one file per monitored process, which is kept open. Every ten seconds,
// spread over the calls, it also reads one file of every other process, and two more of each
// monitored process whose memory has changed.
// Not thread-safe.
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

#include "common/base/error.h"
#include "common/platform/clock.h"
#include "common/platform/machine.h"
#include "common/platform/process_watch.h"
#include "reveza/gpu/nvml/gpu_activity.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/insight/monitor/job_sockets.h"
#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

struct DaemonAnswer {
  std::string socket;
  nlohmann::json status;
  pid_t peer = 0;  // pid of the listening process; 0 if in another pid namespace
};

struct Sources {
  // Optional; one for each socket. kNotFound, kUnavailable: no daemon.
  std::function<std::vector<Result<DaemonAnswer>>()> daemons;
  std::function<std::vector<JobAnswer>()> jobs;  // optional
  // Optional: journals of jobs that run, or have ended at or after a time (seconds since the
  // epoch).
  std::function<std::vector<JobRecord>(double since)> records;
  nvml::GpuMonitor* gpus = nullptr;
  nvml::GpuActivity* activity = nullptr;
  const platform::Clock* clock = nullptr;  // never null
  std::function<double()> wall_time;       // seconds since the epoch
  std::filesystem::path root = "/";
  std::size_t max_open_files = 256;  // files of processes that may stay open
};

class Collector {
 public:
  // Proportional memory and peaks are expensive to read: each monitored process is sampled once in
  // this period. The first call samples all, later calls a share of them.
  static constexpr std::chrono::seconds kExpensivePeriod{10};
  // Period for processes whose resident memory is unchanged; only sharing may have changed.
  static constexpr std::chrono::seconds kUnchangedPeriod{60};
  // How long ended jobs are kept, so that an alert on their failure is noticed.
  static constexpr std::chrono::seconds kEndedPeriod{3600};

  explicit Collector(Sources sources);

  Snapshot Collect();

 private:
  struct ExpensiveSample {
    std::uint64_t start_ticks = 0;
    std::uint64_t faults = 0;
    Bytes resident = 0;
    std::chrono::nanoseconds read_at{0};
    std::optional<Bytes> proportional;
    std::optional<Bytes> peak;
  };
  struct TransferCounters {
    Bytes out = 0;
    Bytes in = 0;
    std::uint64_t handovers = 0;
  };

  void CollectMachine(Snapshot& snapshot);
  void CollectDaemons(Snapshot& snapshot);
  void CollectGpus(Snapshot& snapshot);
  void CollectJobs(Snapshot& snapshot);
  void CollectProcesses(Snapshot& snapshot);
  void SampleExpensive(const std::vector<pid_t>& own);
  bool IsUnchanged(const ExpensiveSample& sample, const platform::ProcessStat& stat) const;
  // Returns the process tree of each running step, in the order of the jobs.
  std::vector<std::vector<pid_t>> ProcessTrees(const Snapshot& snapshot) const;
  std::vector<pid_t> MonitoredProcesses(const Snapshot& snapshot,
                                        const std::vector<std::vector<pid_t>>& families) const;

  void ComputeTransferRates(Snapshot& snapshot);
  // Sets the command of a step's process, which is read once.
  void SetCommand(Step& step);
  // Returns the usage of a process, or of a `tree` with its root first.
  Usage UsageOf(std::span<const pid_t> pids, bool tree);
  // Sets the rates since the previous call for the same process or tree.
  void SetIoRates(Usage& use, std::span<const pid_t> pids, bool tree);
  Usage TrackPeak(pid_t root, Usage use);
  std::optional<double> Rate(Bytes before, Bytes now) const;

  Sources sources_;
  platform::ProcessWatch watch_;
  std::optional<platform::CpuTicks> cpu_before_;
  std::optional<std::chrono::nanoseconds> time_before_;
  platform::RoundRobin expensive_turns_{kExpensivePeriod};
  std::chrono::nanoseconds now_{0};
  double seconds_ = 0;  // since the previous call; 0: none
  std::map<pid_t, ExpensiveSample> expensive_;
  std::map<pid_t, std::pair<std::uint64_t, Bytes>> peaks_;  // start time, peak
  struct IoSample {
    std::uint64_t start_ticks = 0;
    std::chrono::nanoseconds at{0};
    platform::ProcessIo io;
  };
  std::map<std::pair<pid_t, bool>, IoSample> io_;  // by process, or root of a tree
  struct KnownCommand {
    std::uint64_t start_ticks = 0;
    std::string name;  // of the program, which changes when another one is executed
    std::string command;
  };
  std::map<pid_t, KnownCommand> commands_;
  std::map<std::string, TransferCounters> previous_transfers_;  // by GPU or client
};

}  // namespace reveza::monitor
