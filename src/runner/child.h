// Starting a step's program from its supervisor.
// Part of the supervisor: libc and header-only C++ only. Thread-safety: none.
#pragma once

#include <sys/types.h>

#include "runner/attempt.h"

namespace reveza::runner {

struct ChildDescriptors {
  int output = -1;  // become its standard output and error
  int errors = -1;
};

struct Child {
  pid_t pid = 0;  // 0: it was not started, see `error`
  int error = 0;  // errno
};

// In a session of its own, with standard input empty, all signals as a program expects them, and
// PATH looked up in the environment that it gets. By vfork: nothing of this process is copied.
Child StartChild(const StartRequest& request, const ChildDescriptors& descriptors);

}  // namespace reveza::runner
