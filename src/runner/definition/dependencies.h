// What waits for what. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "runner/job.h"

namespace reveza::runner {

// Some of the numbers 0 .. count-1 that wait for each other in a circle, the first one again at the
// end; empty: there are none. `after(i)` are those that i waits for, all below `count`.
std::vector<std::uint32_t> FindCircle(
    std::uint32_t count, const std::function<std::span<const std::uint32_t>(std::uint32_t)>& after);

// That every step that is waited for exists, and none waits for itself.
// kInvalidArgument: the steps of a circle, by their numbers from 1.
Status CheckDependencies(const Job& job);

}  // namespace reveza::runner
