#include "reveza/insight/doctor/limit_fix.h"

#include <fmt/format.h>

#include "common/base/bytes.h"

namespace reveza::doctor {
namespace {

constexpr std::uint64_t kMappings = 1048576;
constexpr std::uint64_t kMaxPid = 4194304;  // of Linux on 64 bits
constexpr std::uint64_t kThreads = 1000000;

// The shell counts memory in KiB.
bool IsMemory(std::string_view option) { return option == "-d" || option == "-l"; }

// Linux allows no unlimited number of open files.
std::string_view MaxOf(std::string_view option) { return option == "-n" ? "1048576" : "unlimited"; }

}  // namespace

std::string HowToRaise(std::string_view option, std::string_view item,
                       const platform::Limit& limit) {
  const std::string_view max = MaxOf(option);
  const std::string permanently =
      fmt::format("a line '* - {} {}' in /etc/security/limits.conf", item, max);
  if (!limit.hard) return fmt::format("ulimit {} {}; permanently: {}", option, max, permanently);
  if (limit.soft && *limit.soft < *limit.hard) {
    const std::uint64_t hard = IsMemory(option) ? *limit.hard / kKiB : *limit.hard;
    return fmt::format("ulimit {} {}; permanently: {}", option, hard, permanently);
  }
  return fmt::format(
      "the hard limit is no higher, and only root can raise it: remove ulimit {} from the script "
      "that sets it; in containers --ulimit {}={}; else, as root, {}",
      option, item, max == "unlimited" ? "-1" : max, permanently);
}

std::string HowToRaiseMapCount(std::uint64_t now) {
  if (now >= kMappings) return "fewer threads and fewer, larger mappings: the limit is high";
  return fmt::format(
      "sudo sysctl vm.max_map_count={0}, or fewer threads; permanently: put the setting into "
      "/etc/sysctl.d/90-maps.conf",
      kMappings);
}

std::string HowToRaiseThreads(std::uint64_t threads_max, std::uint64_t pid_max) {
  std::string settings;
  if (pid_max < kMaxPid) settings += fmt::format(" kernel.pid_max={}", kMaxPid);
  if (threads_max < kThreads) settings += fmt::format(" kernel.threads-max={}", kThreads);
  if (settings.empty()) return "start fewer threads (OMP_NUM_THREADS)";
  return "sudo sysctl" + settings + "; or start fewer threads (OMP_NUM_THREADS)";
}

}  // namespace reveza::doctor
