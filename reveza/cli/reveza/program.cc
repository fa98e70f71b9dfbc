#include "reveza/cli/reveza/program.h"

#include <unistd.h>

#include <system_error>

#include "common/platform/runtime_paths.h"

namespace reveza::cli {

CommandResult<daemon::Configuration> LoadConfiguration(
    std::initializer_list<std::pair<std::string_view, std::string>> options) {
  auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return Failure(kConfiguration, "{}", configuration.error().message);
  for (const auto& [key, value] : options) {
    if (value.empty()) continue;
    const auto added = configuration->AddFlag(key, value);
    if (!added) return Failure(kUsage, "{}", added.error().message);
  }
  const auto valid = configuration->Check();
  if (!valid) return Failure(kConfiguration, "{}", valid.error().message);
  return *std::move(configuration);
}

void AddSocketOption(CLI::App& app, std::string& socket) {
  AddOption(
      app, "--socket", socket, "PATH",
      "socket of the daemon (default: $REVEZA_SOCKET, else in the runtime directory, else of\n"
      "the system)");
}

void AddSocketsOption(CLI::App& app, std::vector<std::string>& sockets) {
  AddOption(app, "--socket", sockets, "PATH",
            "socket of a daemon; repeat for more (default: $REVEZA_SOCKET, else those in the\n"
            "runtime directory and of the system)")
      ->allow_extra_args(false);
}

std::filesystem::path SocketPath(const daemon::Settings& settings) {
  if (!settings.socket.empty()) return settings.socket;
  // Only members of its group can reach the socket of a system-wide daemon.
  std::filesystem::path user = platform::UserSocket(platform::ProcessEnvironment, getuid());
  std::error_code error;
  const bool system =
      !std::filesystem::exists(user, error) && access(platform::kSystemSocket, W_OK) == 0;
  return system ? std::filesystem::path(platform::kSystemSocket) : user;
}

std::vector<std::filesystem::path> SocketPaths(const daemon::Settings& settings,
                                               const std::vector<std::string>& sockets) {
  if (!sockets.empty()) return {sockets.begin(), sockets.end()};
  if (!settings.socket.empty()) return {settings.socket};
  std::vector<std::filesystem::path> paths = {
      platform::UserSocket(platform::ProcessEnvironment, getuid())};
  if (access(platform::kSystemSocket, W_OK) == 0) paths.emplace_back(platform::kSystemSocket);
  return paths;
}

}  // namespace reveza::cli
