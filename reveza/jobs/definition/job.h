// The job model: parameterised commands, instantiated as steps. Plain values; parsing is in
// job_file.h and parameters.h, execution in reveza/jobs/engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/jobs/definition/step_parameters.h"

namespace reveza::jobs {

// Resources that a step needs. Absent values are learned from finished steps of the same command.
struct Claim {
  std::optional<double> cpus;
  std::optional<Bytes> memory;
  std::optional<Bytes> gpu_memory;

  bool operator==(const Claim&) const = default;
};

// For a program that runs numbered cycles in one process and reports each with a line such as
// "reveza step 57 phi=0.61".
struct Cycles {
  std::uint64_t count = 0;  // cycles 1..count
  std::uint64_t chain = 0;  // cycles per process; 0: all in one

  bool operator==(const Cycles&) const = default;
};

// The template shared by many steps; parameters in braces are not expanded yet.
struct Command {
  std::vector<std::string> arguments;  // with `shell`: exactly one, a /bin/sh command line
  bool shell = false;
  std::filesystem::path folder;                                  // working folder, absolute
  std::vector<std::pair<std::string, std::string>> environment;  // added to the runner's, in order
  std::vector<std::string> identity_variables;  // their values are part of the identity
  std::vector<std::string> inputs;              // their contents are part of the identity
  std::optional<std::chrono::nanoseconds> time_limit;
  int priority = 0;  // higher starts first
  Claim claim;
  std::string memory_template;  // instead of claim.memory: "{mb}MiB"; empty: none
  std::optional<Cycles> cycles;
};

// CPU and GPU steps have separate pools of workers.
enum class Lane : std::uint8_t { kCpu = 0, kGpu = 1 };
inline constexpr std::size_t kLanes = 2;
inline Lane LaneOf(const Command& command) {
  return command.claim.gpu_memory.value_or(0) > 0 ? Lane::kGpu : Lane::kCpu;
}

// Returns whether steps of the command may hold a GPU: it claims GPU memory, or runs `reveza run`.
// Such steps must not be stopped (SIGSTOP): a stopped process keeps its GPU turn and memory, and
// blocks its peers.
bool MayHoldGpu(const Command& command);

// A job may have a million of them.
struct Step {
  Parameters parameters;
  std::vector<std::uint32_t> after;  // indices of steps that must succeed first
  std::uint32_t command = 0;         // index into Job::commands
  std::uint32_t number = 0;          // in the whole job, from 1, if this is a part; 0: index + 1
};

struct Job {
  std::string name;  // empty: DefaultName()
  std::vector<Command> commands;
  std::vector<Step> steps;
};

// Returns the number of a step in the whole job, from 1.
std::uint32_t NumberOf(const Job& job, std::size_t step);

// Names a step: "seed=57 model=small", or its number from 1 if it has no parameters.
std::string LabelOf(const Job& job, std::size_t step);

// Returns a cycle in the graph of nodes 0..count-1, its first node repeated at the end, or nothing
// when the graph is acyclic. `after(i)` returns the nodes that i depends on, all below `count`.
std::vector<std::uint32_t> FindDependencyCycle(
    std::uint32_t count, const std::function<std::span<const std::uint32_t>(std::uint32_t)>& after);

}  // namespace reveza::jobs
