// Somebody else on the machine, with a uid and a group of its own. Only root can become one.
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

// Why tests with other users cannot run here; "" when they can. `programs` are what they are to
// start: a build in a closed folder is out of their reach.
std::string WhyNot(User user, const std::vector<std::string>& programs);

// The same command for that user, who has no other groups.
std::vector<std::string> CommandAs(User user, const std::vector<std::string>& command);

// Whether `condition` holds of that user, in a process of its own.
bool HoldsFor(User user, const std::function<bool()>& condition);

}  // namespace reveza::testing
