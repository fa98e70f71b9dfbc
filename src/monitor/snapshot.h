// Everything that is shown, at one moment: machine, GPUs, programs that share them, jobs.
//
// A value only. What is not available is nothing, never 0: no GPU, no daemon, a process that ended
// while it was looked at, a kernel that does not say. Shares are 0 to 1, CPU is in cores (1.0 is
// one core, busy all the time), rates are a second's. Thread-safety: as for an int.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "platform/machine_load.h"
#include "platform/pressure.h"

namespace reveza::monitor {

// What a process, or one with all below it, uses.
struct Use {
  std::optional<double> cpu;  // nothing until it was seen twice
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> processes;
  std::optional<Bytes> resident;      // sum, with shared pages counted in each
  std::optional<Bytes> proportional;  // sum of shares: looked at every ten seconds only
  std::optional<Bytes> peak;          // of one process its own record, of several the largest seen

  std::optional<Bytes> Memory() const { return proportional ? proportional : resident; }
  bool operator==(const Use&) const = default;
};

struct Machine {
  std::optional<unsigned> cores;
  std::optional<double> cpu;  // share of all cores
  std::optional<std::array<double, 3>> load;
  std::optional<platform::MachineMemory> memory;
  std::optional<Bytes> cgroup_headroom;  // where a limit holds for this process
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
  std::optional<Bytes> used;      // by everybody, as the driver says
  std::optional<Bytes> budget;    // what the daemon gives out
  std::optional<Bytes> resident;  // of programs under Reveza, contexts included
  std::optional<Bytes> swapped;
  std::optional<Bytes> external;        // used by others
  std::optional<double> sm_active;      // share of SM cycles with a warp: GPM, Hopper and later
  std::optional<double> some_resident;  // share of time with any kernel at all: no use of the SMs
  std::optional<double> link_out;       // bytes a second over the link, from the GPU
  std::optional<double> link_in;
  std::optional<double> swap_out;  // of these, moved by Reveza
  std::optional<double> swap_in;
  std::optional<Bytes> swapped_out_all;  // since the daemon began
  std::optional<Bytes> swapped_in_all;
  std::optional<Handovers> handovers;
};

// A program under Reveza.
struct Client {
  pid_t pid = 0;
  std::string name;
  std::string command;
  std::string job;   // the `reveza run` that it belongs to
  std::string step;  // "<id of a job>/<number>" where it is part of a step that runs, else empty
  std::string state;
  std::string why;  // empty: it does not wait
  std::optional<Bytes> resident;
  std::optional<Bytes> swapped;
  std::optional<Bytes> fixed;  // GPU memory that cannot move: pinned, and contexts
  std::optional<double> share;
  std::optional<std::uint64_t> turns;
  std::optional<double> waited_seconds;
  std::optional<Bytes> copied_out;
  std::optional<Bytes> copied_in;
  std::optional<double> swap_out;
  std::optional<double> swap_in;
  bool not_answering = false;
  bool unpreemptible = false;
  Use use;
};

// A GPU program that runs outside Reveza.
struct Outside {
  pid_t pid = 0;
  std::string gpu;
  std::string command;
  std::optional<Bytes> used;
  Use use;
};

struct Daemon {
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

// A step of a job that runs now.
struct Step {
  std::uint64_t number = 0;
  std::string label;
  std::optional<std::uint64_t> attempt;
  pid_t pid = 0;  // 0: not known here
  std::string state;
  std::optional<double> since;  // seconds since 1970
  std::optional<Bytes> memory;  // as the runner measures it
  std::optional<Bytes> peak;
  std::optional<Bytes> claim;
  std::optional<Bytes> gpu_memory;
  std::optional<CycleCount> cycle;
  Use use;
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
  std::string socket;  // where it can be told to pause, resume or cancel
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
  std::optional<double> rate;  // steps a second
  std::optional<double> eta_p50_seconds;
  std::optional<double> eta_p90_seconds;
  std::string waiting;  // empty: nothing waits
  std::vector<Step> running;
  std::map<std::string, MetricSummary> metrics;
  Use use;  // sum over the steps that run
};

struct Snapshot {
  double time = 0;  // seconds since 1970
  Machine machine;
  std::optional<Daemon> daemon;
  std::vector<Gpu> gpus;
  std::vector<Client> clients;
  std::vector<Outside> outside;
  std::vector<Job> jobs;
  std::vector<std::string> notes;  // what could not be looked at, and why
  // Files of /proc/PID that were read, and opened, for this snapshot: what it cost.
  std::uint64_t process_files_read = 0;
  std::uint64_t process_files_opened = 0;
};

}  // namespace reveza::monitor
