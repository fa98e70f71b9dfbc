// Starts a step's program from its supervisor, signals and reaps its processes, and holds the state
// of the step.
// Not thread-safe.
#pragma once

#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"
#include "reveza/jobs/supervisor/attempt.h"
#include "reveza/jobs/supervisor/step_group.h"

namespace reveza::jobs {

struct ChildDescriptors {
  int output = -1;  // for standard output and error
  int errors = -1;
};

struct Child {
  pid_t pid = 0;        // 0: not started, see `error`
  int error = 0;        // errno
  int group_error = 0;  // errno: it runs outside its control group
  bool forked = false;  // `error` comes from chdir or exec
};

// Returns whether the error is a temporary lack of a resource (processes, memory, descriptors, disk
// space), so that starting may succeed later.
bool IsTemporaryError(const Child& child);

// Returns whether the file is a regular one that this user may execute.
bool IsExecutable(const std::string& path);

// Returns PATH of an environment of "NAME=value", or its default.
std::string_view SearchPathOf(const std::vector<std::string>& environment);

// Searches `search_path` (the value of PATH) for an executable file, as execvp does; relative
// entries are resolved against `folder`. Returns "" if there is none.
std::string FindInPath(std::string_view program, std::string_view folder,
                       std::string_view search_path);

// Starts the program in a new session with empty standard input, default signal handling, and PATH
// of its own environment. Uses vfork. With a `group` the process starts inside it: by clone3
// (version 2), or it enters the group before exec.
Child StartChild(const StartRequest& request, const ChildDescriptors& descriptors,
                 const StepGroup* group = nullptr);

// Signals all descendants, even those that changed their process group, and repeats for new ones,
// for a few rounds at most; processes that fork faster are reached by the next call.
void SignalDescendants(pid_t ancestor, int signal);

// Whether this process has children, and zombies among them. A subreaper without children has no
// descendants; the query needs no descriptor.
struct ChildState {
  bool has_children = false;
  bool has_zombies = false;
};
ChildState QueryChildren();

// Blocks SIGCHLD and returns a signalfd for it.
UniqueFd ListenForChildren();

// A step from its start until its result is recorded.
struct RunningStep {
  StartRequest request;
  AttemptResult result;
  std::int64_t began = 0;         // monotonic
  std::int64_t paused_since = 0;  // 0: not paused
  std::int64_t kill_at = 0;       // monotonic time of SIGKILL; 0: none
  std::optional<Outcome> end_reason;
  std::uint64_t last_cycle = 0;  // highest reported cycle
  bool ended = false;            // the program has exited; background processes may be alive
  bool death_inspected = false;
  std::optional<GroupStats> scope;  // counters of the systemd scope at exit
  std::optional<StepGroup> group;
};

// Kernel clocks in nanoseconds. Thread-safe.
inline constexpr std::int64_t kSecond = 1'000'000'000;

inline std::int64_t Clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}
// Monotonic clock.
inline std::int64_t Now() { return Clock(CLOCK_MONOTONIC); }

inline std::int64_t Nanoseconds(const timeval& time) {
  return time.tv_sec * kSecond + std::int64_t{time.tv_usec} * 1000;
}

}  // namespace reveza::jobs
