#include "commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <thread>

#include "daemon_link.h"
#include "exit_status.h"
#include "platform/runtime_paths.h"
#include "run.h"
#include "status_text.h"
#include "wire/messages.h"

namespace reveza::cli {

using daemon::Settings;

int ShowStatus(const Settings& settings, bool as_json, bool watch) {
  auto link = DaemonLink::Connect(SocketOf(settings));
  if (!link) return Say(link.error().status, link.error().message);
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (;;) {
    const auto status = link->Status();
    if (!status) return Say(status.error().status, status.error().message);
    if (watch && terminal && !as_json) fmt::print("\x1b[H\x1b[2J");
    fmt::print("{}\n", as_json ? status->dump(watch ? -1 : 2) : StatusText(*status));
    if (std::fflush(stdout) != 0) return kOutput;
    if (!watch) return kDone;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

int WriteTrace(const Settings& settings, const std::string& file) {
  auto link = DaemonLink::Connect(SocketOf(settings));
  if (!link) return Say(link.error().status, link.error().message);
  const auto trace = link->Trace();
  if (!trace) return Say(trace.error().status, trace.error().message);
  if (file == "-") {
    fmt::print("{}\n", *trace);
    return std::fflush(stdout) == 0 ? kDone : kOutput;
  }
  std::ofstream out(file);
  out << *trace << '\n';
  out.close();
  if (!out) return Say(kOutput, fmt::format("cannot write {}; name a file in your folder", file));
  fmt::print("wrote {} ({} KiB); open it at https://ui.perfetto.dev\n", file,
             trace->size() / 1024 + 1);
  return kDone;
}

int StopDaemon(const Settings& settings, bool force) {
  const auto socket = SocketOf(settings);
  auto link = DaemonLink::Connect(socket);
  if (!link) return Say(link.error().status, link.error().message);
  const auto answer = link->Stop(force);
  if (!answer) return Say(answer.error().status, answer.error().message);
  if (!answer->value("allowed", false)) {
    return Say(kPermission, "only its own user and root may stop this daemon");
  }
  if (!answer->value("stops", false)) {
    return Say(kClients, fmt::format("{} programs use the daemon; wait for them, or: reveza stop "
                                     "--force (they run on without it)",
                                     answer->value("clients", 0)));
  }
  // Gone is when nobody listens any more.
  for (int i = 0; i < 1000; ++i) {
    if (!DaemonLink::Connect(socket)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fmt::print("the daemon has ended\n");
  return kDone;
}

int ShowConfiguration(const daemon::Configuration& configuration) {
  fmt::print("{:<16} {:<20} {}\n", "key", "value", "from");
  for (const auto& info : daemon::AllSettings()) {
    fmt::print("{:<16} {:<20} {}\n", info.key, configuration.ValueOf(info.key),
               configuration.OriginOf(info.key));
  }
  return kDone;
}

int ShowConfigurationPath() {
  const auto path = daemon::ConfigurationPath(platform::ProcessEnvironment);
  std::error_code error;
  fmt::print("{}{}\n", path.string(),
             std::filesystem::exists(path, error) ? "" : " (there is no such file yet)");
  return kDone;
}

int ShowVersion() {
  fmt::print("reveza {} (protocol {})\n", REVEZA_VERSION, wire::kVersion);
  return kDone;
}

}  // namespace reveza::cli
