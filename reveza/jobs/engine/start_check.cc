#include "reveza/jobs/engine/start_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "common/platform/text_file.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/report/progress_text.h"
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

// Returns the words of the first line of a script after "#!"; none if the file is not a script.
std::vector<std::string> InterpreterOf(const fs::path& program) {
  constexpr std::size_t kMaxLine = 256;  // BINPRM_BUF_SIZE of Linux
  char line[kMaxLine + 1] = {};
  std::ifstream file(program, std::ios::binary);
  file.getline(line, kMaxLine);
  const std::string_view text = line;
  if (!text.starts_with("#!")) return {};
  const auto words = platform::Words(text.substr(2));
  return {words.begin(), words.end()};
}

// Fails if the kernel, or env on its behalf, will not find the interpreter of a script.
Status CheckInterpreter(const fs::path& program, const fs::path& folder,
                        std::string_view search_path) {
  const auto words = InterpreterOf(program);
  if (words.empty()) return {};
  std::string missing;
  if (!IsExecutable(folder / words[0])) missing = words[0];
  const bool by_env = words.size() == 2 && fs::path(words[0]).filename() == "env";
  if (by_env && !words[1].contains('=') && !words[1].starts_with('-') &&
      !FindProgram(words[1], folder, search_path)) {
    missing = words[1];
  }
  if (missing.empty()) return {};
  const bool carriage = missing.ends_with('\r');
  return Fail(Error::Code::kNotFound, "the interpreter of {}, {}, is missing or not executable{}",
              program.string(), EscapeControls(missing),
              carriage ? "; its lines end as on Windows" : "");
}

Status CheckProgram(const std::string& word, const fs::path& folder, std::string_view path) {
  ASSIGN_OR_RETURN(const auto program, FindProgram(word, folder, path));
  return CheckInterpreter(program, folder, path);
}

}  // namespace

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** at = environ; *at != nullptr; ++at) environment.emplace_back(*at);
  return environment;
}

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
      status = CheckProgram(expanded.arguments.front(), expanded.folder, path);
    }
    if (!status) {
      return Fail(Error::Code::kNotFound, "step {} cannot start: {}; nothing was started", i + 1,
                  status.error().message);
    }
  }
  return {};
}

}  // namespace reveza::jobs
