// What `reveza` and `reveza-metrics` share: the frame of main() (common/cli/command_line.h) and the
// daemon's configuration.
#pragma once

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/cli/command_line.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/gpu/daemon/settings.h"

namespace reveza::cli {

// In pt_BR.po.
inline constexpr command_line::Translation kPortuguese[] = {
#include "generated/reveza/cli/reveza/pt_br.inc"
};

inline constexpr command_line::Program kProgram = {
    .name = "reveza",
    .memory_hint = "free some memory",
    .portuguese = kPortuguese,
    .status_of = [](const Error&) { return std::ferror(stdout) != 0 ? kOutput : kFailed; }};

// Loads the configuration file and the environment, overrides them with those of `options` (key,
// value) that are not empty, and validates the result.
CommandResult<daemon::Configuration> LoadConfiguration(
    std::initializer_list<std::pair<std::string_view, std::string>> options);

// Adds --socket.
void AddSocketOption(CLI::App& app, std::string& socket);

// The same for commands that read from several daemons.
void AddSocketsOption(CLI::App& app, std::vector<std::string>& sockets);

// Returns the socket of the settings, else the user's, else that of a system-wide daemon.
std::filesystem::path SocketPath(const daemon::Settings& settings);

// Returns those of the command line, else that of the settings, else the user's and, if this user
// may connect, that of a system-wide daemon.
std::vector<std::filesystem::path> SocketPaths(const daemon::Settings& settings,
                                               const std::vector<std::string>& sockets = {});

}  // namespace reveza::cli
