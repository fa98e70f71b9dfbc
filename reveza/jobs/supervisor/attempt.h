// An attempt to run a step: the request to a supervisor, and its result.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "reveza/jobs/supervisor/packing.h"

namespace reveza::jobs {

// Content hash that identifies a step, independent of its position; see identity.h.
using Identity = std::array<std::uint8_t, 16>;
// Parses 32 hexadecimal digits; nullopt for any other text.
std::optional<Identity> ParseIdentity(std::string_view text);

// Nanoseconds of the wall clock since the epoch; meaningful across reboots.
using WallTime = std::int64_t;
inline WallTime WallNow() { return std::chrono::system_clock::now().time_since_epoch().count(); }

struct AttemptName {
  Identity identity{};
  std::uint32_t attempt = 0;  // 1, 2, ...

  bool operator==(const AttemptName&) const = default;
};
auto Fields(MaybeConst<AttemptName> auto& name) { return std::tie(name.identity, name.attempt); }

// The control group to start a step in.
struct GroupRequest {
  std::string folder;              // to create; empty: none
  std::uint8_t version = 0;        // 1 or 2
  std::uint64_t memory_limit = 0;  // bytes, swap included; 0: unlimited
  std::string scope{};             // version 2 group managed by systemd; only read

  bool operator==(const GroupRequest&) const = default;
};
auto Fields(MaybeConst<GroupRequest> auto& group) {
  return std::tie(group.folder, group.version, group.memory_limit, group.scope);
}

// Kernel counters of a step's control group when the step ended.
struct GroupStats {
  std::uint64_t kills = 0;              // processes killed by the OOM killer
  std::optional<std::uint64_t> peak{};  // bytes, including page cache and kernel memory
  bool at_limit = false;                // the memory limit was reached

  bool operator==(const GroupStats&) const = default;
};
auto Fields(MaybeConst<GroupStats> auto& stats) {
  return std::tie(stats.kills, stats.peak, stats.at_limit);
}

struct StartRequest {
  AttemptName name;
  std::string label;                     // for display: "seed=57"
  std::vector<std::string> arguments;    // at least one
  std::vector<std::string> environment;  // besides what is inherited, as "NAME=value"
  std::string folder;
  std::string output;  // files for standard output and error; overwritten
  std::string errors;
  std::vector<std::uint32_t> processors;  // CPU affinity; empty: any
  std::uint64_t cycles = 0;               // number of the last cycle; 0: not a cycle step
  std::int64_t time_limit = 0;            // ns, pauses excluded; 0: none
  std::int64_t grace = 0;                 // ns between SIGTERM and SIGKILL
  GroupRequest group{};
  bool outputs_are_new = false;  // there are no files of these names
};
auto Fields(MaybeConst<StartRequest> auto& request) {
  return std::tie(request.name, request.label, request.arguments, request.environment,
                  request.folder, request.output, request.errors, request.processors,
                  request.cycles, request.time_limit, request.grace, request.group,
                  request.outputs_are_new);
}

// Variables that all further steps of a supervisor inherit; no step sets one of them itself.
struct InheritedEnvironment {
  std::vector<std::string> variables;  // "NAME=value"
};
auto Fields(MaybeConst<InheritedEnvironment> auto& inherited) {
  return std::tie(inherited.variables);
}

enum class Outcome : std::uint8_t {
  kSuccess = 0,     // exit status 0
  kFailure = 1,     // exit status `code`, not 0
  kSignal = 2,      // killed by signal `code`
  kNotStarted = 3,  // errno `code`, e.g. missing program or folder
  kTimeLimit = 4,   // time limit exceeded
  kCancelled = 5,   // by the user, or to be retried
  kUnknown = 6,     // the supervisor died too, or the power failed
  kMemory = 7,      // killed by the OOM killer
  kPartial = 8,     // exit status 0, but cycles are missing
  kOutputLost = 9,  // exit status 0, but the disk was full and the output may be incomplete
};
inline constexpr Outcome kLastOutcome = Outcome::kOutputLost;
const char* ToText(Outcome outcome);

struct AttemptResult {
  AttemptName name;
  Outcome outcome = Outcome::kUnknown;
  std::int32_t code = 0;
  std::int32_t pid = 0;
  WallTime began = 0;
  WallTime ended = 0;
  std::int64_t paused = 0;     // ns
  std::int64_t user_time = 0;  // ns, including reaped children
  std::int64_t system_time = 0;
  std::uint64_t largest_resident = 0;  // bytes; ru_maxrss of the largest process
  std::uint64_t output_bytes = 0;
  std::uint64_t error_bytes = 0;
};
auto Fields(MaybeConst<AttemptResult> auto& result) {
  return std::tie(result.name, result.outcome, result.code, result.pid, result.began, result.ended,
                  result.paused, result.user_time, result.system_time, result.largest_resident,
                  result.output_bytes, result.error_bytes);
}

// A cycle reported by the program.
struct CycleResult {
  AttemptName name;
  std::uint64_t number = 0;
  WallTime at = 0;
  std::string metrics;  // "phi=0.61 loss=0.001", validated, in the reported order
};
auto Fields(MaybeConst<CycleResult> auto& cycle) {
  return std::tie(cycle.name, cycle.number, cycle.at, cycle.metrics);
}

// Unpacks a whole message; nullopt if it is truncated, too long or has undefined values.
template <typename T>
std::optional<T> Unpack(std::string_view bytes) {
  Unpacker unpacker(bytes);
  T message = unpacker.Take<T>();
  bool valid = unpacker.finished();
  if constexpr (std::is_same_v<T, StartRequest>) valid = valid && !message.arguments.empty();
  if constexpr (std::is_same_v<T, AttemptResult>) valid = valid && message.outcome <= kLastOutcome;
  return valid ? std::optional<T>(std::move(message)) : std::nullopt;
}

}  // namespace reveza::jobs
