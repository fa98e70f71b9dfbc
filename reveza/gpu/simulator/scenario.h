// Random scenarios, generated from a seed, and their outcomes.
//
// Thread-safe: free functions on values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reveza/gpu/simulator/client.h"
#include "reveza/gpu/simulator/world.h"

namespace reveza::simulator {

struct Scenario {
  struct Process {
    Time start{0};
    JobId job = 0;
    Plan plan;
  };
  struct Kill {
    Time when{0};
    ClientId client = 0;  // in start order, from 1
  };
  struct External {
    Time when{0};
    GpuId gpu = 0;
    Bytes bytes = 0;
  };
  struct Change {
    Time when{0};
    JobId job = 0;
    scheduler::Policy policy;
  };
  struct Event {
    Time when{0};
    std::function<void(scheduler::Scheduler&, Time)> event;
  };
  WorldConfig world;
  std::vector<Process> processes;
  std::vector<Change> changes;  // of policies
  std::vector<Kill> kills;
  std::vector<External> external;
  std::vector<Time> restarts;
  std::vector<Event> events;  // which no process sends
  bool everything_fits = false;
  std::optional<Time> max_wait;  // starvation limit, if not that of MaxWait
};

struct Outcome {
  std::string failure;  // empty: none
  std::string state;    // description of a failed world
  bool all_finished = false;
  Time makespan{0};  // until the last client left
  std::uint64_t events = 0;
  int max_passes = 0;  // of one event
  Bytes bytes_moved = 0;
  Checker::Counters counters;
};

enum class Flavour {
  kPlain,       // busy jobs, no faults
  kGrowing,     // growth, pinned memory, frees, sleeps
  kFaulty,      // also stuck steps, failed evictions, deaths, budget cuts, daemon restarts
  kFitting,     // everything fits at all times
  kScarceHost,  // busy jobs that free and reallocate, little host memory
  kRanks,       // busy jobs of several ranks that wait for each other on the GPU
  kPolicies,    // growth, sleeps, and policies that change
  kContexts,    // contexts that do not fit together, sleeps, pauses and faults
  kResting,     // many small jobs that compute seldom, beside busy large ones
  kEverything,  // growth, pinned memory, policies, quotas; half with contexts that leave and faults
  kMany,        // many jobs on many GPUs, most on one of them; growth, sleeps and policies
};

Scenario RandomScenario(std::uint64_t seed, Flavour flavour);

// Returns the total GPU time of a scenario: the work of all clients and their longest drains.
Time TotalWork(const Scenario& scenario);
// Returns the starvation limit: that of the scenario, or several times the total work plus an
// allowance for handovers, failed drains and failed evictions.
Time MaxWait(const Scenario& scenario);

Outcome RunScenario(const Scenario& scenario);

}  // namespace reveza::simulator
