#include "run.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "base/units.h"
#include "daemon_link.h"
#include "exit_status.h"
#include "gpu_probe.h"
#include "platform/runtime_paths.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using daemon::Settings;

bool IsProgram(const fs::path& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Says what execvp would, but before a daemon is started for nothing.
std::optional<Trouble> CheckCommand(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    if (IsProgram(command)) return std::nullopt;
    if (access(command.c_str(), F_OK) != 0) {
      return Trouble{kNoCommand, fmt::format("there is no '{}'", command)};
    }
    return Trouble{kCannotExecute,
                   fmt::format("'{}' is no program that may be run; try: chmod +x", command)};
  }
  std::istringstream folders(platform::ProcessEnvironment("PATH").value_or("/usr/bin:/bin"));
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    if (IsProgram(fs::path(folder.empty() ? "." : folder) / command)) return std::nullopt;
  }
  return Trouble{kNoCommand, fmt::format("there is no command '{}' in PATH", command)};
}

// In the build tree, then as installed.
std::optional<fs::path> FindLibrary() {
  const fs::path programs = platform::ProgramFolder();
  for (const char* place : {"lib/libreveza.so", "lib/reveza/libreveza.so"}) {
    fs::path library = programs.parent_path() / place;
    std::error_code error;
    if (fs::exists(library, error)) return library;
  }
  return std::nullopt;
}

std::vector<std::string> DaemonFlags(const Settings& settings) {
  std::vector<std::string> flags;
  if (settings.gpu_budget) {
    flags.insert(flags.end(), {"--gpu-budget", fmt::format("{}B", *settings.gpu_budget)});
  }
  if (settings.host_budget) {
    flags.insert(flags.end(), {"--host-budget", fmt::format("{}B", *settings.host_budget)});
  }
  return flags;
}

// A daemon that runs already may have been told something else.
std::optional<Trouble> CompareBudgets(const Settings& settings, const nlohmann::json& status) {
  const auto differs = [](const char* flag, Bytes asked, const std::string& has) {
    return Trouble{kOtherBudget,
                   fmt::format("the daemon runs with {} {}, not {}; run `reveza stop` first, or "
                               "leave {} away",
                               flag, has, FormatBytes(asked), flag)};
  };
  const auto budget = status.find("gpu_budget");
  if (settings.gpu_budget && budget != status.end()) {
    if (!budget->is_number_unsigned()) {
      return differs("--gpu-budget", *settings.gpu_budget, "the whole card");
    }
    if (budget->get<Bytes>() != *settings.gpu_budget) {
      return differs("--gpu-budget", *settings.gpu_budget, FormatBytes(budget->get<Bytes>()));
    }
  }
  const Bytes host = status.value("/host/budget"_json_pointer, Bytes{0});
  if (settings.host_budget && host != *settings.host_budget) {
    return differs("--host-budget", *settings.host_budget, FormatBytes(host));
  }
  return std::nullopt;
}

std::string NewJob() {
  std::uint64_t job = 0;
  while (job == 0) {
    if (getrandom(&job, sizeof(job), 0) != sizeof(job)) job = static_cast<std::uint64_t>(getpid());
  }
  return fmt::format("{:016x}", job);
}

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

void SetEnvironment(const fs::path& socket, const fs::path& library, const RunOptions& options,
                    const nlohmann::json& status) {
  const auto preloaded = platform::ProcessEnvironment("LD_PRELOAD");
  if (!preloaded || preloaded->find(library.string()) == std::string::npos) {
    Set("LD_PRELOAD", preloaded ? library.string() + ":" + *preloaded : library.string());
  }
  Set("REVEZA_SOCKET", fs::absolute(socket).string());
  if (!platform::ProcessEnvironment("REVEZA_JOB")) Set("REVEZA_JOB", NewJob());
  if (!options.name.empty()) Set("REVEZA_NAME", options.name);
  if (options.resident) Set("REVEZA_RESIDENT", "1");
  if (options.quiet) Set("REVEZA_QUIET", "1");
  const auto budget = status.find("gpu_budget");
  if (budget != status.end() && budget->is_number_unsigned()) {
    Set("REVEZA_GPU_BUDGET", fmt::format("{}", budget->get<Bytes>()));
  } else {
    unsetenv("REVEZA_GPU_BUDGET");
  }
}

int Become(const std::vector<std::string>& command) {
  std::vector<std::string> copies = command;
  std::vector<char*> arguments;
  for (std::string& argument : copies) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  return Say(error == ENOENT ? kNoCommand : kCannotExecute,
             fmt::format("cannot run '{}': {}", command[0], std::strerror(error)));
}

}  // namespace

fs::path SocketOf(const Settings& settings) {
  if (!settings.socket.empty()) return settings.socket;
  // A machine with a daemon for all has its socket where only its users can come near.
  fs::path user = platform::UserSocket(platform::ProcessEnvironment, getuid());
  std::error_code error;
  const bool system = !fs::exists(user, error) && access(platform::kSystemSocket, W_OK) == 0;
  return system ? fs::path(platform::kSystemSocket) : user;
}

int Run(const Settings& settings, const RunOptions& options) {
  if (const auto trouble = CheckCommand(options.command[0])) {
    return Say(trouble->status, trouble->message);
  }
  if (platform::ProcessEnvironment("REVEZA_DISABLE") == "1") return Become(options.command);
  const auto library = FindLibrary();
  if (!library) {
    return Say(kNoLibrary, fmt::format("libreveza.so is in neither lib nor lib/reveza of {}; "
                                       "build or install it whole",
                                       platform::ProgramFolder().parent_path().string()));
  }
  if (settings.gpu_budget) {
    const auto gpu = ProbeGpu();
    if (gpu && *settings.gpu_budget > gpu->total) {
      return Say(kBudget, fmt::format("--gpu-budget {} is more than the card has; at most {}",
                                      FormatBytes(*settings.gpu_budget), FormatBytes(gpu->total)));
    }
  }
  const fs::path socket = SocketOf(settings);
  auto link = DaemonLink::ConnectOrStart(socket, DaemonFlags(settings));
  if (!link) return Say(link.error().status, link.error().message);
  const auto status = link->Status();
  if (!status) return Say(status.error().status, status.error().message);
  if (const auto trouble = CompareBudgets(settings, *status)) {
    return Say(trouble->status, trouble->message);
  }
  SetEnvironment(socket, *library, options, *status);
  return Become(options.command);
}

}  // namespace reveza::cli
