#include "reveza/jobs/engine/start_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/supervisor/child.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

bool Varies(std::string_view text) { return text.contains('{'); }

// Returns whether all steps of the command have the same program and folder.
bool AllStartAlike(const Command& command) {
  return !Varies(command.folder.native()) &&
         (command.shell || !Varies(command.arguments.front())) &&
         std::ranges::none_of(command.environment, [](const auto& variable) {
           return variable.first == "PATH" && Varies(variable.second);
         });
}

Status CheckFolder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Fail(Error::Code::kNotFound, "the folder {} does not exist", folder.string());
  }
  if (access(folder.c_str(), X_OK) == 0) return {};
  return Fail(Error::Code::kPermission, "no permission to enter the folder {}", folder.string());
}

}  // namespace

Status CheckPrograms(const Job& job, const Expander& expander,
                     const std::vector<std::string>& environment,
                     const std::function<bool(std::size_t step)>& will_run) {
  std::vector<bool> checked(job.commands.size());
  std::set<fs::path> folders;
  std::set<std::tuple<std::string, fs::path, std::string>> programs;
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const Step& step = job.steps[i];
    if (checked[step.command] || !step.after.empty() || !will_run(i)) continue;
    checked[step.command] = AllStartAlike(job.commands[step.command]);
    ASSIGN_OR_RETURN(const auto expanded, expander.Expand(step, {1, i + 1, 1, 1}));
    std::string path(SearchPathOf(environment));
    for (const auto& [name, value] : expanded.environment) {
      if (name == "PATH") path = value;
    }
    Status status;
    if (folders.insert(expanded.folder).second) status = CheckFolder(expanded.folder);
    if (status && programs.emplace(expanded.arguments.front(), expanded.folder, path).second) {
      const auto program = FindProgram(expanded.arguments.front(), expanded.folder, path);
      if (!program) status = std::unexpected(program.error());
    }
    if (!status) {
      return Fail(status.error().code, "step {} cannot start: {}; nothing was started", i + 1,
                  status.error().message);
    }
  }
  return {};
}

}  // namespace reveza::jobs
