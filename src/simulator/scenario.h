// Worlds made from a seed, and what came of them.
//
// Thread-safety: none; free functions on values.
#pragma once

#include <string>
#include <vector>

#include "simulator/client.h"
#include "simulator/world.h"

namespace reveza::simulator {

struct Scenario {
  struct Process {
    Time start{0};
    JobId job = 0;
    Plan plan;
  };
  struct Death {
    Time when{0};
    ClientId client = 0;  // by order of starting, from 1
  };
  struct External {
    Time when{0};
    GpuId gpu = 0;
    Bytes bytes = 0;
  };
  WorldConfig world;
  std::vector<Process> processes;
  std::vector<Death> deaths;
  std::vector<External> external;
  std::vector<Time> restarts;
  bool everything_fits = false;
};

struct Outcome {
  std::string failure;  // empty: none
  std::string state;    // of a world that went wrong, for people
  bool all_finished = false;
  Time makespan{0};
  std::uint64_t events = 0;
  Bytes moved = 0;
  Checker::Seen seen;
};

enum class Flavour {
  kPlain,    // busy jobs, no surprises
  kGrowing,  // growth, pinned memory, frees, sleeps
  kRough,    // all of that, undrainable steps, failing evictions, deaths, cut budgets, a new daemon
  kFitting,  // everything fits at all times
  kShort,    // busy jobs that free and take again, and little host memory
};

Scenario RandomScenario(std::uint64_t seed, Flavour flavour);

// All GPU time that the processes of a scenario need: each client's work and its longest drains.
Time TotalWork(const Scenario& scenario);
// Longer than this nobody may wait: the time of all others in turn, several times over, with what
// each handover, failed drain and failed eviction may cost.
Time LongestWait(const Scenario& scenario);

Outcome Play(const Scenario& scenario);

}  // namespace reveza::simulator
