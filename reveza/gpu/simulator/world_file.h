// A world for `reveza simulate`: cards and jobs, read from TOML. docs/simulate.md lists the keys.
//
// Thread-safe: free functions on values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/gpu/simulator/client.h"
#include "reveza/gpu/simulator/world.h"

namespace reveza::simulator {

// Equal jobs; each is one process.
struct JobGroup {
  std::string name;
  std::size_t copies = 1;
  Time start{0};
  Time busy{0};  // GPU time between two sleeps, on average; 0: it does not sleep
  Plan plan;     // on its node; sleep_probability follows from `busy`
};

struct WorldFile {
  WorldConfig node;
  std::size_t nodes = 1;
  std::vector<JobGroup> jobs;
};

// Return what a file need not say: a card of 24 GiB, a context of 500 MiB, kernels of 20 ms.
WorldFile DefaultWorld();
JobGroup DefaultJob();

// kInvalidArgument messages begin with "name:line:column: ".
Result<WorldFile> ParseWorldFile(std::string_view text, std::string_view name);

// Changes one value, "gpu_budget=24GiB" or "train.weight=2". Call ValidateWorld() after the last.
Status ChangeWorld(WorldFile& world, std::string_view change);

// Returns kInvalidArgument if a job cannot run on its node: it does not fit, or a GPU is missing.
Status ValidateWorld(const WorldFile& world);

}  // namespace reveza::simulator
