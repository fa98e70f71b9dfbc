// The state of machine, GPUs, programs and jobs at one moment.
//
// Plain values. Unavailable values (no GPU, no daemon, a process that has exited, no kernel
// support) are nullopt, never 0. Shares range from 0 to 1, CPU is in cores (1.0 is one fully used
// core), rates are per second.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/platform/machine.h"

namespace reveza::monitor {

// Resource usage of a process or process tree.
struct Usage {
  std::optional<double> cpu;  // needs two samples
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> processes;
  std::optional<Bytes> resident;      // sum of RSS; counts shared pages repeatedly
  std::optional<Bytes> proportional;  // sum of PSS; sampled every ten seconds
  std::optional<Bytes> peak;          // VmHWM of a single process, else highest sample
  std::optional<double> io_read;      // storage, bytes per second; needs two samples
  std::optional<double> io_write;

  std::optional<Bytes> Memory() const { return proportional ? proportional : resident; }
  bool operator==(const Usage&) const = default;
};

struct Machine {
  std::optional<unsigned> cores;
  std::optional<double> cpu;      // share of all cores
  std::vector<double> each_core;  // shares, in the kernel's order; empty: unknown
  std::optional<std::array<double, 3>> load;
  std::optional<platform::MachineMemory> memory;
  std::optional<Bytes> cgroup_headroom;  // of this process, if limited
  platform::Pressures pressure;          // of the machine
  platform::Pressures cgroup_pressure;   // of this process's cgroup
  std::optional<std::uint64_t> processes;
};

struct Handovers {
  std::uint64_t count = 0;
  std::optional<double> mean_seconds;
  std::optional<double> rate;
};

struct Gpu {
  std::optional<std::uint64_t> index;
  std::string uuid;
  std::string name;
  std::optional<Bytes> total;
  std::optional<Bytes> used;      // by all processes, according to the driver
  std::optional<Bytes> budget;    // managed by the daemon
  std::optional<Bytes> resident;  // by programs under Reveza, contexts included
  std::optional<Bytes> swapped;
  std::optional<Bytes> external;        // by processes outside Reveza
  std::optional<double> sm_active;      // share of SM cycles with a warp: GPM, Hopper and later
  std::optional<double> some_resident;  // share of time with any kernel; not SM utilisation
  std::optional<double> link_out;       // bytes per second, out of the GPU
  std::optional<double> link_in;
  std::optional<double> swap_out;  // swapped by Reveza, part of link_out
  std::optional<double> swap_in;
  std::optional<Bytes> swapped_out_all;  // since the daemon started
  std::optional<Bytes> swapped_in_all;
  std::optional<Bytes> unchanged_all;  // left the GPU without a copy
  std::optional<Handovers> handovers;
};

// Percentiles of the time from a request for the GPU to the open gate, in seconds.
struct WaitTimes {
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
};

// What a program has of one GPU.
struct ClientMemory {
  std::optional<std::uint64_t> gpu;  // its index
  std::optional<Bytes> resident;     // with what is not swappable
  std::optional<Bytes> swapped;
};

// A program under Reveza.
struct Client {
  pid_t pid = 0;
  std::string name;
  std::string command;
  std::string job;   // of the `reveza run` that started it
  std::string step;  // "<job id>/<number>" if part of a running step
  std::string state;
  std::string why;  // wait reason; empty: not waiting
  std::optional<Bytes> resident;
  std::optional<Bytes> swapped;
  std::optional<Bytes> fixed;   // not swappable: pinned memory and contexts
  std::string policy;           // empty: the default
  std::optional<double> share;  // of its lifetime, with its gate open
  // Of the last minute of the GPU that it competes for most: what its weight entitles it to, and
  // what it had.
  std::optional<double> share_wanted;
  std::optional<double> share_got;
  std::optional<WaitTimes> waits;
  std::vector<ClientMemory> gpus;
  std::optional<std::uint64_t> turns;
  std::optional<double> ran_seconds;  // of its job: with its gate open
  std::optional<double> waited_seconds;
  std::optional<Bytes> copied_out;
  std::optional<Bytes> copied_in;
  std::optional<double> swap_out;
  std::optional<double> swap_in;
  bool unresponsive = false;
  bool unpreemptible = false;
  Usage use;
};

// A process that uses a GPU outside Reveza.
struct ExternalProcess {
  pid_t pid = 0;
  std::string gpu;
  std::string command;
  std::optional<Bytes> used;
  Usage use;
};

struct Daemon {
  std::string socket;
  std::string version;
  pid_t pid = 0;
  std::optional<double> uptime_seconds;
  std::optional<Bytes> host_budget;
  std::optional<Bytes> host_reserved;
};

struct CycleCount {
  std::uint64_t done = 0;
  std::uint64_t all = 0;
  bool operator==(const CycleCount&) const = default;
};

// A running step of a job.
struct Step {
  std::uint64_t number = 0;
  std::string label;
  std::optional<std::uint64_t> attempt;
  pid_t pid = 0;        // 0: unknown
  std::string command;  // empty: unknown
  std::string state;
  std::optional<double> since;  // seconds since the epoch
  std::optional<Bytes> memory;  // as measured by the runner
  std::optional<Bytes> peak;
  std::optional<Bytes> claim;
  std::optional<Bytes> gpu_memory;
  std::optional<CycleCount> cycle;
  Usage use;
};

struct StepCounts {
  std::optional<std::uint64_t> all, done, running, waiting, failed, held;
  bool operator==(const StepCounts&) const = default;
};

struct MetricSummary {
  std::optional<std::uint64_t> count;
  std::optional<double> min, mean, max, last;
};

struct Job {
  std::string id;
  std::string socket;  // of its runner
  std::string name;
  std::string state;
  pid_t pid = 0;
  std::optional<double> began;
  std::string folder;
  std::string command;
  StepCounts steps;
  std::optional<std::uint64_t> workers;
  std::optional<std::uint64_t> best_workers;
  std::optional<bool> workers_settled;
  std::string workers_reason;
  std::optional<double> rate;  // steps per second
  std::optional<double> eta_p50_seconds;
  std::optional<double> eta_p90_seconds;
  std::string waiting;  // wait reason; empty: not waiting
  std::vector<Step> running;
  std::map<std::string, MetricSummary> metrics;
  Usage use;  // sum over the running steps
};

// Durations by the upper bounds of kDurationBounds and one more class, for the rest.
inline constexpr std::array kDurationBounds = {0.01,  0.03,  0.1, 0.3, 1.0, 3.0, 10.0, 30.0,
                                               100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5};
struct Durations {
  std::array<std::uint64_t, kDurationBounds.size() + 1> counts{};
  double sum = 0;  // seconds

  void Add(double seconds) {
    const auto bound = std::ranges::lower_bound(kDurationBounds, seconds);
    ++counts.at(static_cast<std::size_t>(bound - kDurationBounds.begin()));
    sum += seconds;
  }
  bool operator==(const Durations&) const = default;
};

// What the journal of a job says about attempts to run its steps, and, if it has no runner, what it
// came to.
struct JobRecord {
  std::string id;
  bool running = false;  // a runner has it
  double ended = 0;      // the last attempt, in seconds since the epoch
  StepCounts steps;      // if it does not run
  std::uint64_t unknown = 0;
  std::map<std::string, std::uint64_t> attempts;  // ended, by outcome
  Durations durations;                            // of successful attempts
  double cpu_seconds = 0;                         // of ended attempts
};

// What the programs of one name have used of the GPUs.
struct GpuUse {
  double gpu_seconds = 0;  // with the gate of a job open
  double waited_seconds = 0;
};

struct Snapshot {
  double time = 0;  // seconds since the epoch
  Machine machine;
  std::optional<Daemon> daemon;         // the first that answers
  std::vector<Daemon> further_daemons;  // that answer at other sockets
  std::vector<Gpu> gpus;
  std::vector<Client> clients;
  std::map<std::string, GpuUse> used;  // by name; see program_totals.h
  std::vector<ExternalProcess> outside;
  std::vector<Job> jobs;
  std::vector<JobRecord> records;  // of jobs that run or ended in the last hour; if asked for
  std::vector<std::string> notes;  // sources that could not be read, and why
  // Number of /proc/PID files read and opened for this snapshot.
  std::uint64_t process_files_read = 0;
  std::uint64_t process_files_opened = 0;
};

}  // namespace reveza::monitor
