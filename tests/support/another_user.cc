#include "tests/support/another_user.h"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace reveza::testing {

std::string SkipReason(User user, const std::vector<std::string>& programs) {
  if (getuid() != 0) return "needs root to run commands as another user";
  if (!HoldsAs(user, [] { return true; }))
    return "cannot switch to another user in this environment";
  const auto reachable = [&](const std::string& program) {
    return HoldsAs(user, [&] { return access(program.c_str(), X_OK) == 0; });
  };
  const auto unreachable = std::ranges::find_if_not(programs, reachable);
  return unreachable == programs.end() ? "" : "not executable by the other user: " + *unreachable;
}

std::vector<std::string> CommandAs(User user, const std::vector<std::string>& command) {
  std::vector<std::string> words{"/usr/bin/setpriv", "--clear-groups",
                                 "--reuid",          std::to_string(user.uid),
                                 "--regid",          std::to_string(user.gid)};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

bool HoldsAs(User user, const std::function<bool()>& condition) {
  const pid_t child = fork();
  if (child == 0) {
    const bool became =
        setgroups(0, nullptr) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0;
    _exit(became && condition() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace reveza::testing
