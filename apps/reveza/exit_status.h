// How `reveza` ends when it is not the command's own status. docs/errors.md has the same table.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace reveza::cli {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,           // something of ours went wrong
  kUsage = 2,            // the command line is wrong
  kConfiguration = 3,    // the configuration is wrong or cannot be read
  kBudget = 4,           // a budget larger than the card
  kPermission = 5,       // no permission on the socket
  kVersion = 6,          // a daemon of another version
  kNoDaemon = 7,         // no daemon runs
  kOtherBudget = 8,      // the daemon runs with another budget
  kNotStarted = 9,       // the daemon could not be started
  kClients = 10,         // `stop`: programs are connected
  kNoLibrary = 11,       // libreveza.so is not where it should be
  kOutput = 12,          // a file or standard output cannot be written
  kResults = 14,         // `demo`: the results are not the same (13 is revezad's)
  kFailedSteps = 20,     // `jobs run`: steps failed, or nobody knows whether they ran
  kBusyJob = 21,         // `jobs`: another runner works on it, or none where one is needed
  kDamagedJournal = 22,  // `jobs`: its journal is damaged or of another version
  kDoctorUsage = 64,     // `doctor`: the command line is wrong; 1 and 2 are its verdicts
  kInterrupted = 130,    // `jobs run`: ended before all was done
  kCannotExecute = 126,
  kNoCommand = 127,
};

// One line on standard error.
inline int Say(ExitStatus status, const std::string& message) {
  fmt::print(stderr, "reveza: {}\n", message);
  return status;
}

}  // namespace reveza::cli
