// The exit statuses of `reveza` beyond those of common/cli/exit_status.h; docs/errors.md has the
// table.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "common/cli/exit_status.h"

namespace reveza::cli {

inline constexpr ExitStatus kConfiguration{3};    // invalid or unreadable configuration
inline constexpr ExitStatus kBudget{4};           // GPU budget exceeds the GPU's memory
inline constexpr ExitStatus kVersion{6};          // daemon has a different protocol version
inline constexpr ExitStatus kNoDaemon{7};         // daemon is not running
inline constexpr ExitStatus kOtherBudget{8};      // daemon runs with a different budget
inline constexpr ExitStatus kNotStarted{9};       // daemon failed to start
inline constexpr ExitStatus kClients{10};         // `stop`: clients are connected
inline constexpr ExitStatus kNoLibrary{11};       // incomplete installation
inline constexpr ExitStatus kNoSuchProgram{15};   // `pause`, `resume`, `set`: none, or several
inline constexpr ExitStatus kResults{14};         // demos: results differ (13 is revezad's)
inline constexpr ExitStatus kNoMps{16};           // `run --mps`: MPS cannot be used
inline constexpr ExitStatus kNoUsage{17};         // `usage`: nothing was recorded, or not readable
inline constexpr ExitStatus kFailedSteps{20};     // `jobs run`: steps failed or are unknown
inline constexpr ExitStatus kBusyJob{21};         // `jobs`: locked by a runner, or none is running
inline constexpr ExitStatus kDamagedJournal{22};  // `jobs`: journal damaged or incompatible
inline constexpr ExitStatus kDoctorUsage{64};     // `doctor`: usage error; 1 and 2 are verdicts
inline constexpr ExitStatus kCannotExecute{126};  // `run`: command is not executable
inline constexpr ExitStatus kNoCommand{127};      // `run`: command not found

// Why a command failed, and the status to exit with.
struct CommandError {
  ExitStatus status = kFailed;
  std::string message;
};
template <typename T>
using CommandResult = std::expected<T, CommandError>;

template <typename... Arguments>
std::unexpected<CommandError> Failure(ExitStatus status, fmt::format_string<Arguments...> format,
                                      Arguments&&... arguments) {
  return std::unexpected(
      CommandError{status, fmt::format(format, std::forward<Arguments>(arguments)...)});
}

// Prints one line to standard error and returns `status`.
inline int ReportError(ExitStatus status, std::string_view message) {
  return PrintError("reveza", status, message);
}
template <typename First, typename... More>
int ReportError(ExitStatus status, fmt::format_string<First, More...> format, First&& first,
                More&&... more) {
  return ReportError(status,
                     fmt::format(format, std::forward<First>(first), std::forward<More>(more)...));
}
// Returns the status of a command; reports its error.
inline int ReportError(const CommandResult<int>& status) {
  return status ? *status : ReportError(status.error().status, status.error().message);
}

}  // namespace reveza::cli
