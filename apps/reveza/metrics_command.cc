#include "metrics_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "exit_status.h"
#include "platform/runtime_paths.h"

namespace reveza::cli {

int MetricsCommand(int argc, char** argv) {
  std::string program = (platform::ProgramFolder() / "reveza-metrics").string();
  std::vector<char*> arguments = {program.data()};
  for (int i = 1; i < argc; ++i) arguments.push_back(argv[i]);
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  if (errno == ENOENT) {
    return Say(kNoLibrary,
               fmt::format("there is no {}: it is built where prometheus-cpp is installed "
                           "(Debian: prometheus-cpp-dev)",
                           program));
  }
  return Say(kFailed, fmt::format("cannot start {}: {}", program, std::strerror(errno)));
}

}  // namespace reveza::cli
