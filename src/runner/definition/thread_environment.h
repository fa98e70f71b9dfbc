// The right environment before a program starts: thread variables as large as its share of the
// cores, memory allocators that suit several workers, the cores of one NUMA node where that pays.
// What the user has set is never replaced. Each setting says why it is made, for `--dry-run`.
//
// Thread-safety: pure functions of their arguments and of the files below `root`.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/runtime_paths.h"

namespace reveza::runner {

struct NumaNode {
  unsigned number = 0;
  std::vector<unsigned> cores;  // those that this process may use, ascending; never empty

  bool operator==(const NumaNode&) const = default;
};

// The cores that may be used, by node. Empty: not known.
using Topology = std::vector<NumaNode>;
Topology ReadTopology(const std::filesystem::path& root = "/");

// "0-3,8" as numbers; nothing: not understood.
std::optional<std::vector<unsigned>> ParseCoreList(std::string_view text);

struct TorchVersion {
  unsigned major = 0;
  unsigned minor = 0;

  auto operator<=>(const TorchVersion&) const = default;
};
// Of the PyTorch that is installed for a Python interpreter, found by the interpreter's path.
// Nothing: it is none, or has no PyTorch beside it.
std::optional<TorchVersion> FindTorch(const std::filesystem::path& interpreter);

struct ThreadRequest {
  double share = 1;      // cores for each worker, above 0
  unsigned workers = 1;  // at the same time
  unsigned slot = 1;     // which of them, from 1
  Topology topology{};
  bool gpu = false;                     // it claims GPU memory
  std::optional<TorchVersion> torch{};  // what it will import, where that is known
};

struct ThreadSetting {
  std::string name;
  std::string value;
  std::string reason;

  bool operator==(const ThreadSetting&) const = default;
};

struct ThreadEnvironment {
  std::vector<ThreadSetting> settings;  // to be added to the environment
  std::vector<ThreadSetting> kept;      // what the user has set, and what is to be said of it
  std::vector<unsigned> cores;          // to run on; empty: any
  std::string cores_reason;             // why these, or why any
};

// `environment` is what the program would see without this: the runner's own and the job's.
ThreadEnvironment MakeThreadEnvironment(const ThreadRequest& request,
                                        const platform::Environment& environment);

}  // namespace reveza::runner
