// A value.
#pragma once

#include <cstdint>
#include <optional>

#include "runner/supervisor/attempt.h"
#include "runner/supervisor/step_group.h"

namespace reveza::runner {

// What runs, from its start until its result is recorded.
struct Running {
  StartRequest request;
  AttemptResult result;
  std::int64_t began = 0;         // monotonic
  std::int64_t paused_since = 0;  // 0: it is not
  std::int64_t kill_at = 0;       // 0: not asked to end
  std::optional<Outcome> ended_by_us;
  std::uint64_t last_cycle = 0;  // the highest that it has said
  bool ended = false;            // the program itself; what it left behind may live
  bool looked_at_death = false;
  std::optional<GroupEnd> scope;  // into which somebody else had put it, when it ended
  std::optional<StepGroup> group;
};

}  // namespace reveza::runner
