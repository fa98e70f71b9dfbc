// The supervisor process of a worker: runs one step at a time and records its result before
// notifying the runner. It outlives a killed runner until its step has ended, so results are never
// lost. As a child subreaper it adopts and ends background processes left by a step.
//
// Libc, xxHash's header and header-only C++ only; linked statically. Single-threaded.
#pragma once

#include <string>

namespace reveza::jobs {

// Runs until the runner has closed `socket` and no step is running. Its standard input is that of
// the steps: empty, as the runner starts it. Returns the exit status: 0, or
// 1 if the record at `path` cannot be created (the runner receives kRefused with the reason).
int Supervise(int socket, const std::string& path);

}  // namespace reveza::jobs
