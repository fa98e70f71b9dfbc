// One attempt to run a step: what is asked of a supervisor, and what came of it.
// Part of the supervisor: libc and header-only C++ only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reveza::runner {

// What a step is, whatever its number in the list: a hash of its content.
using Identity = std::array<std::uint8_t, 16>;

// Wall clock, nanoseconds since 1970; what is kept is read after a reboot.
using WallTime = std::int64_t;

struct AttemptName {
  Identity identity{};
  std::uint32_t attempt = 0;  // 1, 2, ...

  bool operator==(const AttemptName&) const = default;
};

// The control group that a step is to be born into.
struct GroupRequest {
  std::string folder;        // to be made; empty: it gets none
  std::uint8_t version = 0;  // 1 or 2
  std::uint64_t most = 0;    // bytes; who asks for more is killed, swap or not. 0: no limit
  std::string scope{};       // of version 2, into which somebody else puts it: is looked at only

  bool operator==(const GroupRequest&) const = default;
};

// What the kernel said of it when the step had ended.
struct GroupEnd {
  std::uint64_t kills = 0;              // processes of it that were killed for memory
  std::optional<std::uint64_t> peak{};  // bytes, page cache and the kernel's own included
  bool at_limit = false;                // it had all that it may have, and asked for more

  bool operator==(const GroupEnd&) const = default;
};

struct StartRequest {
  AttemptName name;
  std::string label;                     // for people: "seed=57"
  std::vector<std::string> arguments;    // at least one
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::string folder;
  std::string output;  // files for standard output and error; replaced
  std::string errors;
  std::vector<std::uint32_t> processors;  // to run on; empty: any
  std::uint64_t cycles = 0;     // the last cycle of all, looked for in its output; 0: it has none
  std::int64_t time_limit = 0;  // ns of running, pauses not counted; 0: none
  std::int64_t grace = 0;       // ns between SIGTERM and SIGKILL
  GroupRequest group{};
};

enum class Outcome : std::uint8_t {
  kSuccess = 0,     // exit status 0
  kFailure = 1,     // another exit status, in `code`
  kSignal = 2,      // killed by signal `code`
  kNotStarted = 3,  // errno `code`: no such program, no such folder
  kTimeLimit = 4,   // ended because it ran too long
  kCancelled = 5,   // ended because the user wanted it, or to be tried again
  kUnknown = 6,     // nobody saw the end: the supervisor died too, or the power failed
  kMemory = 7,      // killed for memory
  kPartial = 8,     // exit status 0, and not all of its cycles are made
};
inline constexpr Outcome kLastOutcome = Outcome::kPartial;
const char* ToText(Outcome outcome);

struct AttemptResult {
  AttemptName name;
  Outcome outcome = Outcome::kUnknown;
  std::int32_t code = 0;
  std::int32_t pid = 0;
  WallTime began = 0;
  WallTime ended = 0;
  std::int64_t paused = 0;     // ns that it stood still on request
  std::int64_t user_time = 0;  // ns, of it and its children that it waited for
  std::int64_t system_time = 0;
  std::uint64_t largest_resident = 0;  // bytes: ru_maxrss, of the largest single process
  std::uint64_t output_bytes = 0;
  std::uint64_t error_bytes = 0;
};

// Since the program was started: a cycle that it has said.
struct CycleResult {
  AttemptName name;
  std::uint64_t number = 0;
  WallTime at = 0;
  std::string metrics;  // "phi=0.61 loss=0.001": checked, in the order in which it said them
};

}  // namespace reveza::runner
