// How to raise limits: advice that has an effect on the limit as it is. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/platform/process_limits.h"

namespace reveza::doctor {

// Returns how to raise the soft limit of `ulimit OPTION`, `item` in limits.conf: up to the hard
// limit if that is higher, else by raising the hard limit, which only root can.
std::string HowToRaise(std::string_view option, std::string_view item,
                       const platform::Limit& limit);

// Returns how to get along with vm.max_map_count.
std::string HowToRaiseMapCount(std::uint64_t now);

// Returns how to get along with kernel.threads-max and kernel.pid_max.
std::string HowToRaiseThreads(std::uint64_t threads_max, std::uint64_t pid_max);

}  // namespace reveza::doctor
