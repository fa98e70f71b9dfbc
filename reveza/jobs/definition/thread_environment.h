// Environment and CPU affinity of steps: thread counts that match a worker's share of the cores,
// allocator settings suited to several workers, the cores of one NUMA node where it helps.
// Variables set by the user are never overridden. Each setting has a reason, shown by `--dry-run`.
//
// Pure functions of their arguments and of the files below `root`.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/platform/runtime_paths.h"

namespace reveza::jobs {

struct NumaNode {
  unsigned number = 0;
  std::vector<unsigned> cores;  // in this process's affinity mask, ascending; not empty

  bool operator==(const NumaNode&) const = default;
};

// The usable cores by NUMA node. Empty: unknown.
using Topology = std::vector<NumaNode>;
Topology ReadTopology(const std::filesystem::path& root = "/");

struct TorchVersion {
  unsigned major = 0;
  unsigned minor = 0;

  auto operator<=>(const TorchVersion&) const = default;
};
// Returns the version of PyTorch installed for a Python interpreter, given the interpreter's path;
// nullopt when it is not a Python interpreter or has no PyTorch.
std::optional<TorchVersion> FindTorch(const std::filesystem::path& interpreter);

struct ThreadRequest {
  double share = 1;      // cores per worker, above 0
  unsigned workers = 1;  // running concurrently
  unsigned slot = 1;     // this worker, from 1
  Topology topology{};
  bool gpu = false;                     // the step claims GPU memory
  std::optional<TorchVersion> torch{};  // version that the step will import, if known
};

struct ThreadSetting {
  std::string name;
  std::string value;
  std::string reason;

  bool operator==(const ThreadSetting&) const = default;
};

struct ThreadEnvironment {
  std::vector<ThreadSetting> settings;  // to add to the environment
  std::vector<ThreadSetting> kept;      // set by the user, with a remark
  std::vector<unsigned> cores;          // CPU affinity; empty: any core
  std::string cores_reason;
};

// `environment` is what the program would inherit: the runner's own plus the job's.
ThreadEnvironment MakeThreadEnvironment(const ThreadRequest& request,
                                        const platform::Environment& environment);

}  // namespace reveza::jobs
