// State of the step that a supervisor runs.
#pragma once

#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include <cstdint>
#include <optional>

#include "reveza/jobs/supervisor/attempt.h"
#include "reveza/jobs/supervisor/disk_space.h"
#include "reveza/jobs/supervisor/step_group.h"

namespace reveza::jobs {

// A step from its start until its result is recorded.
struct RunningStep {
  StartRequest request;
  AttemptResult result;
  std::int64_t began = 0;         // monotonic
  std::int64_t paused_since = 0;  // 0: not paused
  std::int64_t kill_at = 0;       // monotonic time of SIGKILL; 0: none
  std::int64_t publish_at = 0;    // monotonic time to name outputs at; 0: all are
  std::int64_t announce_at = 0;   // monotonic time to tell the runner of the start; 0: it knows
  std::optional<Outcome> end_reason;
  std::uint64_t last_cycle = 0;  // highest reported cycle
  bool disk_was_full = false;    // when the program exited: its output may be incomplete
  bool saw_full_disk = false;    // while it ran
  std::int64_t look_at = 0;      // monotonic time of the next look at the disk; 0: not known yet
  bool ended = false;            // the program has exited; background processes may be alive
  bool told_to_end = false;      // it has SIGTERM
  std::int64_t judge_at = 0;     // monotonic; until then a SIGTERM may explain its exit
  bool death_inspected = false;
  std::optional<GroupStats> scope;  // counters of the systemd scope at exit
  std::optional<StepGroup> group;
};

// Notes how the program has exited, and when.
void RecordExit(RunningStep& step, int status, const rusage& usage);

// Looks at the disk of the outputs if it is time to: a disk that is full while a step runs may have
// room again when it exits.
void LookAtDisk(RunningStep& step, DiskSpace& space, std::int64_t now);

// Returns when something is to be done about the step, or about its record at `retry_at`; times are
// monotonic, 0 is never.
std::int64_t NextTimer(const RunningStep& step, std::int64_t retry_at);

// Returns whether the step has reported its last cycle, which proves that it has finished.
bool HasLastCycle(const RunningStep& step);

// Decides the outcome of a step whose program has exited. `tap_lost_output`: of a step with cycles.
Outcome JudgeOutcome(const RunningStep& step, bool tap_lost_output);

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
