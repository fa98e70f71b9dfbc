// A machine in virtual time for tests of the tuner and for bench/tuner_regret.cc. Steps consist of
// phases; those that compute share the cores, waiting ones do not, one at a time holds the lock,
// and the GPU is shared. The tuner that decides is the runner's. Deterministic for a seed. Not
// thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "reveza/jobs/decide/estimate.h"
#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs::testing {

struct Phase {
  enum Kind { kCompute, kWait, kLock, kGpu };
  Kind kind = kCompute;
  double seconds = 0;  // alone on the machine
};

struct WorldStep {
  std::vector<Phase> phases;
  WorkClass step_class = 0;
};

// Steps and the machine that runs them.
struct Workload {
  std::string name;
  unsigned cores = 1;
  bool on_gpu = false;
  // More steps than this never run at once, for lack of memory,
  unsigned room = 100'000;
  // or run out of memory, of which the tuner is told.
  unsigned out_of_memory_above = 100'000;
  std::function<WorldStep(std::uint64_t index, std::uint64_t steps, std::mt19937_64& random)> step;
  // Progress of all computing steps together, in cores.
  std::function<double(double computing)> speed;
  std::function<double(double computing)> gpu_speed;
  // Slows the holder of the lock, for each that waits for it and finds a core to ask for it.
  double lock_penalty = 0;
};

// Names of the workloads of `MakeWorkload`.
std::span<const std::string_view> WorkloadNames();
// Returns a workload on a machine, both with parameters drawn by `seed`. `cores`, and `seconds` of
// a step: 0: drawn too.
Workload MakeWorkload(std::string_view name, std::uint64_t seed, unsigned cores = 0,
                      double seconds = 0);

// Returns a tuner as the runner makes it for such steps.
Tuner MakeTuner(const Workload& workload);

class World {
 public:
  World(const Workload& workload, std::uint64_t steps, std::uint64_t seed);

  struct Ended {
    std::uint64_t index = 0;
    double seconds = 0;
    WorkClass step_class = 0;
  };
  // Called when a step has ended, before others start.
  std::function<void(const Ended&)> on_event = [](const Ended&) {};
  // Returns the steps that have not started, and those that run.
  PendingGroup Pending(unsigned workers) const;
  double now() const { return now_; }
  unsigned running() const { return static_cast<unsigned>(running_.size()); }
  unsigned out_of_memory() const { return out_of_memory_; }  // events

  // Runs all steps as the tuner decides. Returns the seconds.
  double Run(Tuner& tuner);
  // Runs all steps with a fixed number of workers. Returns the seconds.
  double Run(unsigned workers);

 private:
  struct Running {
    WorldStep step;
    std::size_t phase = 0;
    double begun = 0;
    double cpu = 0;        // of ended phases
    double cpu_clock = 0;  // when the phase began
  };
  using Id = std::uint64_t;

  std::chrono::nanoseconds Now() const;
  double Rate(Phase::Kind kind) const;
  double CpuRate() const;
  void Start(unsigned workers);
  void Begin(Id id);
  void Advance(double seconds);
  // Returns whether a step ended, and which.
  std::optional<Id> EndPhase(Phase::Kind kind);
  double CpuOf(const Running& one) const;
  // Advances to the end of the next step, at most to `until`.
  std::optional<Id> Next(double until);
  void Sample(Tuner& tuner);

  const Workload& workload_;
  std::vector<WorldStep> steps_;
  std::size_t next_ = 0;
  double now_ = 0;
  unsigned out_of_memory_ = 0;
  std::map<Id, Running> running_;
  // By kind: what a phase that began at 0 would have progressed, and when phases end by that clock.
  std::array<double, 4> clocks_{};
  std::array<std::multimap<double, Id>, 4> ends_;
  std::deque<Id> lock_queue_;
  double cpu_clock_ = 0;  // CPU time of a step that computes since 0
};

// The fixed number of workers with which a job is the shortest.
struct BestFixed {
  unsigned workers = 1;
  double seconds = 0;
};
BestFixed FindBestFixed(const Workload& workload, std::uint64_t steps, std::uint64_t seed);

}  // namespace reveza::jobs::testing
