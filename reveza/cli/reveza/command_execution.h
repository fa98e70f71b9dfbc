// Shared by `reveza run` and `reveza trace --calls`, which preload a library and then execute the
// user's command in their own process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reveza/cli/reveza/exit_status.h"

namespace reveza::cli {

// Checks what execvp() would.
CommandResult<void> CheckCommand(const std::string& command);

// Returns a library of the build tree, else the installed one.
CommandResult<std::filesystem::path> FindLibrary(const char* name);

// Prepends a library to LD_PRELOAD, unless it is there.
void Preload(const std::filesystem::path& library);

// Executes the command in this process. Returns only on failure.
int Execute(const std::vector<std::string>& command);

}  // namespace reveza::cli
