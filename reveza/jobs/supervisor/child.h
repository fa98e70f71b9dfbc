// Starts a step's program from its supervisor, and signals and reaps its processes.
// Not thread-safe.
#pragma once

#include <sys/types.h>

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

// Returns PATH of an environment of "NAME=value".
std::string_view SearchPathOf(const std::vector<std::string>& environment,
                              std::string_view otherwise = "/usr/bin:/bin");

// Searches `search_path` (the value of PATH) for an executable file, as execvp does; relative
// entries are resolved against `folder`. Returns "" if there is none.
std::string FindInPath(std::string_view program, std::string_view folder,
                       std::string_view search_path);

// Starts `program` in a new session with this process's standard input, default signal handling,
// and PATH of its own environment. `inherited`: variables besides those of the request. Uses vfork.
// With a `group` the process starts inside it: by clone3 (version 2), or it enters the group before
// exec.
Child StartChild(const std::string& program, const StartRequest& request,
                 const std::vector<std::string>& inherited, const ChildDescriptors& descriptors,
                 const StepGroup* group = nullptr);

// Starts the programs of requests, found as by execvp in the child. Searches PATH only if the last
// request was for another program, or that one is gone, like the hash table of a shell.
class ProgramStarter {
 public:
  Child Start(const StartRequest& request, const std::vector<std::string>& inherited,
              const ChildDescriptors& descriptors, const StepGroup* group = nullptr);

 private:
  // Returns the path of the program, valid until the next call; "" if there is none.
  const std::string& Find(const StartRequest& request, const std::vector<std::string>& inherited);

  std::string name_, folder_, search_path_;  // of the last request
  std::string found_;
  bool remembered_ = false;  // from an earlier request
};

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

// Blocks SIGCHLD and SIGTERM and returns a signalfd for them.
UniqueFd ListenForSignals();

// Lets terminal signals do nothing, and unblocks all but those of ListenForSignals(). They are
// handled rather than ignored: programs that are executed have the default action again, so that no
// child has to set it.
void DisregardSignals();

}  // namespace reveza::jobs
