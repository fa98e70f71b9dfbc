// One clear line for a client that waits: for what, because of whom, how long yet.
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "daemon/clients.h"
#include "scheduler/scheduler.h"

namespace reveza::daemon {

// What the line may speak of.
struct WhyWorld {
  Time now{0};
  Time max_wait{0};
  Bytes host_free = 0;
  Bytes host_budget = 0;
  std::size_t rotating = 0;  // jobs that take turns
  const scheduler::JobView* blocker = nullptr;
  std::string blocker_name;  // "train-a (pid 123)"
  Bytes need = 0;            // GPU memory of the job that waits
  Bytes budget = 0;          // of its first GPU, less what is outside
};

// Empty when the job does not wait.
std::string WhyText(const scheduler::JobView& job, const WhyWorld& world);

}  // namespace reveza::daemon
