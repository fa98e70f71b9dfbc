// The process beside a worker: starts one step at a time, sees how it ends and writes that down
// before it tells the runner. It outlives the runner until its step has ended, so what a step did
// is known even then; it takes in what a step leaves behind (it is a subreaper) and ends it.
//
// Libc, xxHash's header and header-only C++ only; linked statically. One thread.
#pragma once

#include <string>

namespace reveza::runner {

// Until the runner has closed `socket` and nothing runs any more. Exit status: 0, or 1 where the
// record at `path` cannot be made (the runner is told why).
int Supervise(int socket, const std::string& path);

}  // namespace reveza::runner
