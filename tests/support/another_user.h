// Runs commands and checks as another user. Requires root.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace reveza::testing {

struct User {
  uid_t uid;
  gid_t gid;
};

// Returns why tests cannot run as `user`, or "" if they can. `programs` must be executable by
// `user`, which they are not in a build tree below a private directory.
std::string SkipReason(User user, const std::vector<std::string>& programs);

// Wraps `command` to run as `user` without supplementary groups.
std::vector<std::string> CommandAs(User user, const std::vector<std::string>& command);

// Evaluates `condition` as `user`, in a child process.
bool HoldsAs(User user, const std::function<bool()>& condition);

}  // namespace reveza::testing
