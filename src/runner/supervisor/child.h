// Starting a step's program from its supervisor.
// Part of the supervisor: libc and header-only C++ only. Thread-safety: none.
#pragma once

#include <sys/types.h>

#include "runner/supervisor/attempt.h"
#include "runner/supervisor/step_group.h"

namespace reveza::runner {

struct ChildDescriptors {
  int output = -1;  // become its standard output and error
  int errors = -1;
};

struct Child {
  pid_t pid = 0;        // 0: it was not started, see `error`
  int error = 0;        // errno
  int group_error = 0;  // errno: it runs, and not in its control group
  bool made = false;    // a process was: `error` is of its folder or its program
};

// In a session of its own, with standard input empty, all signals as a program expects them, and
// PATH looked up in the environment that it gets. By vfork: nothing of this process is copied.
// With a `group` it is born there: by clone3 (version 2; what that copies is small), or it enters
// before its program is loaded.
Child StartChild(const StartRequest& request, const ChildDescriptors& descriptors,
                 const StepGroup* group = nullptr);

}  // namespace reveza::runner
