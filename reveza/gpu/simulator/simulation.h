// Plays a world file: what each job gets, and when.
//
// Thread-safe: free functions on values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reveza/gpu/simulator/world_file.h"

namespace reveza::simulator {

// What a job does at a time.
enum class Phase {
  kSleeps,  // wants nothing
  kWaits,   // for a turn, memory, or a context
  kEnters,  // its memory is swapped in
  kRuns,
  kDrains,  // its GPU work ends before its memory leaves
  kPaused,
};

struct Span {
  std::size_t job = 0;  // index in Simulation::jobs
  Phase phase = Phase::kSleeps;
  Time begin{0};
  Time end{0};
};

struct SimulatedJob {
  std::string name;  // of its group, with a number if that has copies
  std::size_t node = 0;
  double weight = 1;
  Time started{0};
  Time ended{0};  // or the end of the simulation
  bool finished = false;
  std::uint64_t turns = 0;
  Time ran{0};
  Time waited{0};           // with the time to swap in
  std::vector<Time> waits;  // each from wanting the GPU until it runs

  // Returns the wait that `share` of them did not exceed.
  Time WaitPercentile(double share) const;
};

struct Simulation {
  std::vector<SimulatedJob> jobs;
  std::vector<Span> spans;  // of the first node
  Time makespan{0};         // until the last job ended
  Bytes bytes_moved = 0;
  std::uint64_t events = 0;  // of the schedulers
  bool all_finished = false;

  // Returns Jain's index of the shares of the time in which they wanted the GPU that jobs had it,
  // by weight: 1 if all are equal, 1/n if one of n has all.
  double Fairness() const;
};

// Places each job on the node with the most free memory, in the order of the file, and plays all
// nodes until `limit`. `threads`: how many nodes at a time; the result does not depend on it.
Simulation Simulate(const WorldFile& world, Time limit, int threads);

}  // namespace reveza::simulator
