// `reveza run`: makes sure of a daemon, then becomes the command.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings.h"

namespace reveza::cli {

struct RunOptions {
  std::string name;
  bool quiet = false;
  bool resident = false;
  std::vector<std::string> command;
};

// Returns only when it cannot: the exit status.
int Run(const daemon::Settings& settings, const RunOptions& options);

// The settings' socket, or where this user's is.
std::filesystem::path SocketOf(const daemon::Settings& settings);

}  // namespace reveza::cli
