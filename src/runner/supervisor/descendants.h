// The processes below one: for what must reach all of a step, whatever group they moved to.
// Part of the supervisor. Thread-safety: pure functions of the system.
#pragma once

#include <sys/types.h>

#include <vector>

namespace reveza::runner {

// All that live below `ancestor`, itself not included, parents before children. Empty too where
// the system does not say.
std::vector<pid_t> Descendants(pid_t ancestor);

// Sends `signal` to every descendant, again while new ones appear (at most a few rounds: what
// forks faster than that is met by the next call).
void SignalDescendants(pid_t ancestor, int signal);

}  // namespace reveza::runner
