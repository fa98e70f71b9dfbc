#include "reveza/jobs/supervisor/termination.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

// For less it does not pay to read what a step does with the signal.
constexpr std::int64_t kMinDoubt = 1'000'000;
constexpr std::int64_t kMaxShare = 20;
// How a shell exits whose program was killed by a signal.
constexpr int kShellSignal = 128;

// Returns whether a set of signals of /proc/PID/status, in hexadecimal, has SIGTERM.
bool HasSigterm(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == status.npos) return false;
  const std::string_view digits = status.substr(at + name.size());
  std::uint64_t signals = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), signals, 16);
  return (signals >> (SIGTERM - 1) & 1) != 0;
}

// Returns whether a SIGTERM did not kill the process, which is not reaped yet: it handled, ignored
// or awaited it.
bool SurvivesSigterm(pid_t pid) {
  const auto status = platform::ReadText("/proc/" + std::to_string(pid) + "/status");
  if (!status) return false;
  return HasSigterm(*status, "\nSigBlk:\t") || HasSigterm(*status, "\nSigIgn:\t") ||
         HasSigterm(*status, "\nSigCgt:\t");
}

}  // namespace

std::int64_t DoubtAfterExit(const siginfo_t& zombie, std::int64_t ran) {
  const std::int64_t doubt = std::min(ran / kMaxShare, kTerminationSpread);
  if (doubt < kMinDoubt) return 0;
  const bool exited = zombie.si_code == CLD_EXITED;
  const bool by_sigterm = zombie.si_status == (exited ? kShellSignal + SIGTERM : SIGTERM);
  return by_sigterm || (exited && SurvivesSigterm(zombie.si_pid)) ? doubt : 0;
}

}  // namespace reveza::jobs
