#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/command_execution.h"
#include "reveza/cli/reveza/commands.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;

// Removes an older recording, and checks that a new one can be written.
CommandResult<void> PrepareFile(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return Failure(kOutput, "cannot write {}: not a regular file; choose another path",
                   file.string());
  }
  fs::remove(file, error);
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (opened < 0) {
    return Failure(kOutput, "cannot write {}: {}; choose a writable path", file.string(),
                   std::strerror(errno));
  }
  close(opened);
  fs::remove(file, error);
  return {};
}

}  // namespace

CommandResult<int> TraceCalls(const std::string& file, const std::vector<std::string>& command) {
  if (command.empty()) {
    return ReportError(kUsage, "no command given; usage: reveza trace --calls FILE -- COMMAND...");
  }
  if (platform::ProcessEnvironment("LD_PRELOAD").value_or("").contains("libreveza.so")) {
    return ReportError(kUsage,
                       "calls are recorded of programs without Reveza; use `reveza trace --calls` "
                       "outside of `reveza run`");
  }
  RETURN_IF_ERROR(CheckCommand(command[0]));
  const fs::path path = fs::absolute(file);
  RETURN_IF_ERROR(PrepareFile(path));
  ASSIGN_OR_RETURN(const auto library, FindLibrary("libreveza_calls.so"));
  Preload(library);
  setenv("REVEZA_CALLS_FILE", path.c_str(), 1);
  unsetenv("REVEZA_DISABLE");
  return Execute(command);
}

}  // namespace reveza::cli
