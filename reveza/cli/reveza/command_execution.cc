#include "reveza/cli/reveza/command_execution.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/base/exec_arguments.h"
#include "common/platform/runtime_paths.h"
#include "reveza/jobs/supervisor/child.h"

namespace reveza::cli {

CommandResult<void> CheckCommand(const std::string& command) {
  const bool is_path = command.contains('/');
  const std::string search_path =
      is_path ? "" : platform::ProcessEnvironment("PATH").value_or("/usr/bin:/bin");
  if (!jobs::FindInPath(command, "", search_path).empty()) return {};
  if (!is_path) return Failure(kNoCommand, "command not found in PATH: '{}'", command);
  if (access(command.c_str(), F_OK) != 0) {
    return Failure(kNoCommand, "command not found: '{}'", command);
  }
  return Failure(kCannotExecute, "'{}' is not an executable file; try chmod +x", command);
}

CommandResult<std::filesystem::path> FindLibrary(const char* name) {
  const std::filesystem::path prefix = platform::ProgramFolder().parent_path();
  for (const char* folder : {"lib", "lib/reveza"}) {
    std::filesystem::path library = prefix / folder / name;
    std::error_code error;
    if (std::filesystem::exists(library, error)) return library;
  }
  return Failure(kNoLibrary,
                 "{} found neither in lib nor in lib/reveza of {}; the build or installation is "
                 "incomplete",
                 name, prefix.string());
}

void Preload(const std::filesystem::path& library) {
  const auto preloaded = platform::ProcessEnvironment("LD_PRELOAD");
  if (preloaded && preloaded->contains(library.string())) return;
  const std::string value = preloaded ? library.string() + ":" + *preloaded : library.string();
  setenv("LD_PRELOAD", value.c_str(), 1);
}

int Execute(const std::vector<std::string>& command) {
  execvp(command[0].c_str(), ExecArguments(command).data());
  const int error = errno;
  return ReportError(error == ENOENT ? kNoCommand : kCannotExecute, "cannot run '{}': {}",
                     command[0], std::strerror(error));
}

}  // namespace reveza::cli
