// What a job is: commands with parameters, made into steps, that a runner works off. Values only;
// who reads them from a command line or a file, and who runs them, is elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace reveza::runner {

// What a step needs of the machine. What is absent is learned from steps of the same command.
struct Claim {
  std::optional<double> cpus;
  std::optional<Bytes> memory;
  std::optional<Bytes> gpu_memory;

  bool operator==(const Claim&) const = default;
};

// A program that makes numbered cycles in one process and says each: "reveza step 57 phi=0.61".
struct Cycles {
  std::uint64_t count = 0;  // cycles 1..count
  std::uint64_t chain = 0;  // so many in one process, then the next; 0: all in one

  bool operator==(const Cycles&) const = default;
};

// What many steps have in common. Words in braces are parameters: nothing is expanded yet.
struct Command {
  std::vector<std::string> arguments;  // with `shell`: one, a line for /bin/sh
  bool shell = false;
  std::filesystem::path folder;                                  // absolute: where it runs
  std::vector<std::pair<std::string, std::string>> environment;  // set in addition, in this order
  std::vector<std::string> identity_variables;  // whose values are part of a step's identity
  std::vector<std::string> inputs;              // files whose content is part of it
  std::optional<std::chrono::nanoseconds> time_limit;
  int priority = 0;  // larger goes first
  Claim claim;
  std::optional<Cycles> cycles;
};

// Work on CPUs and on GPUs has numbers of workers of its own.
enum class Lane : std::uint8_t { kCpu = 0, kGpu = 1 };
inline constexpr std::size_t kLanes = 2;
inline Lane LaneOf(const Command& command) {
  return command.claim.gpu_memory.value_or(0) > 0 ? Lane::kGpu : Lane::kCpu;
}

struct Parameter {
  std::string name;
  std::string value;

  bool operator==(const Parameter&) const = default;
};

struct Step {
  std::uint32_t command = 0;          // index into Job::commands
  std::vector<Parameter> parameters;  // in the order in which they were named
  std::vector<std::uint32_t> after;   // indices of the steps that must have succeeded before
};

struct Job {
  std::string name;  // empty: named after its content
  std::vector<Command> commands;
  std::vector<Step> steps;
};

}  // namespace reveza::runner
