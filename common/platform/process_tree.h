// Children and descendants of processes. Needs only the C and C++ libraries, so that the static
// supervisor can use it. Pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace reveza::platform {

// Returns `pid` and its descendants, parents first. `append_children(pid, children)` appends the
// children of one process.
template <typename AppendChildren>
std::vector<pid_t> CollectDescendants(pid_t pid, const AppendChildren& append_children) {
  std::vector<pid_t> found = {pid};
  // Parents are not read atomically: a reused pid could otherwise cause a cycle.
  std::unordered_set<pid_t> seen = {pid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<pid_t> children;
    append_children(found[i], children);
    for (const pid_t child : children) {
      if (seen.insert(child).second) found.push_back(child);
    }
  }
  return found;
}

// Collects from a table of children by parent.
std::vector<pid_t> CollectDescendants(
    pid_t pid, const std::unordered_map<pid_t, std::vector<pid_t>>& children_of);

// Appends the children of a process from the `children` files of its threads in the open folder
// `proc`. Returns false if the kernel lacks these files; a process that has exited has no children.
bool AppendChildren(int proc, pid_t pid, std::vector<pid_t>& children);

}  // namespace reveza::platform
