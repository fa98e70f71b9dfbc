#include "reveza/cli/reveza/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>
#include <thread>

#include "common/base/units.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/gpu/wire/messages.h"
#include "reveza/insight/monitor/daemon_status.h"
#include "reveza/insight/monitor/text.h"

namespace reveza::cli {
namespace {

using nlohmann::json;

std::string GpuText(const json& gpu) {
  const std::string name = gpu.value("name", "");
  const Bytes budget = gpu.value("budget", Bytes{0});
  const Bytes resident = gpu.value("resident", Bytes{0});
  const Bytes external = gpu.value("external", Bytes{0});
  std::string text = fmt::format(
      "GPU {}  {}\n  {} {} of {}, {} swapped out", gpu.value("index", 0),
      name.empty() ? gpu.value("uuid", "") : name, monitor::Bar(resident, external, budget, 32),
      FormatBytes(resident), FormatBytes(budget), FormatBytes(gpu.value("swapped", Bytes{0})));
  const auto handover = gpu.value("handover", json::object());
  if (handover.value("count", 0) > 0) {
    text += fmt::format(
        "\n  handovers: {}, {:.0f} ms each (drain {:.0f}, out {:.0f}, in {:.0f}), {:.1f} GB/s",
        handover.value("count", 0), handover.value("mean_ms", 0.0), handover.value("drain_ms", 0.0),
        handover.value("out_ms", 0.0), handover.value("in_ms", 0.0),
        handover.value("gb_per_s", 0.0));
  }
  for (const auto& outside : gpu.value("outside", json::array())) {
    text += fmt::format("\n  not managed by Reveza: pid {} holds {}: {}", outside.value("pid", 0),
                        FormatBytes(outside.value("bytes", Bytes{0})),
                        Shorten(outside.value("command", ""), 30));
  }
  return text;
}

// Says what of a program larger than the card is not on it; "" if it is none.
std::string OnHostText(const json& client) {
  const auto on_host = client.value("on_host", json(nullptr));
  if (!on_host.is_object() || on_host.value("bytes", Bytes{0}) == 0) return "";
  const Bytes bytes = on_host.value("bytes", Bytes{0});
  const auto footprint = client.value("footprint", json::object());
  const Bytes all =
      bytes + footprint.value("resident", Bytes{0}) + footprint.value("swapped", Bytes{0});
  std::string text =
      fmt::format("{} of {} in host memory, at its place", FormatBytes(bytes), FormatBytes(all));
  const Bytes hot = on_host.value("hot", Bytes{0});
  if (hot == 0) return text;
  text += fmt::format("\n         {} of it changes all the time", FormatBytes(hot));
  if (on_host.value("fits", true)) return text + ", and moves to the card";
  return text + fmt::format(" and does not fit on the card: {:.0f} ms for each pass",
                            on_host.value("pass_ms", 0.0));
}

std::string ClientText(const json& client) {
  const auto footprint = client.value("footprint", json::object());
  const auto bytes = [&](const char* kind) { return FormatBytes(footprint.value(kind, Bytes{0})); };
  std::string state = client.value("state", "");
  if (client.value("unresponsive", false)) state = "unresponsive";
  if (client.value("contexts_swapped", false)) state += " (off card)";
  if (client.value("unpreemptible", false)) state += " (does not drain)";
  std::string text = fmt::format(
      "{:>8} {:<15} {:<12} {:>9} {:>9} {:>9} {:>6.0f}% {:>4.0f}% {:>5}", client.value("pid", 0),
      Shorten(client.value("name", ""), 15), state, bytes("resident"), bytes("swapped"),
      FormatBytes(footprint.value("pinned", Bytes{0}) + footprint.value("context", Bytes{0})),
      client.value("share_wanted", 0.0) * 100, client.value("share_got", 0.0) * 100,
      client.value("turns", 0));
  if (const std::string policy = monitor::PolicyText(client.value("policy", json::object()));
      !policy.empty()) {
    text += "\n         " + policy;
  }
  if (const std::string on_host = OnHostText(client); !on_host.empty()) {
    text += "\n         " + on_host;
  }
  if (const std::string why = client.value("why", ""); !why.empty()) {
    text += "\n         " + why;
  }
  return text;
}

// Becomes the program of this name beside this one. Returns only on failure.
int ExecuteSibling(const char* name, std::string_view needs, char** argv) {
  std::string program = (platform::ProgramFolder() / name).string();
  argv[0] = program.data();
  execv(program.c_str(), argv);
  if (errno == ENOENT) {
    return ReportError(kNoLibrary, "{} is not installed; building it requires {}", program, needs);
  }
  return ReportError(kFailed, "cannot start {}: {}", program, std::strerror(errno));
}

}  // namespace

using daemon::Settings;

CommandResult<int> ShowStatus(const Settings& settings, bool as_json, bool watch) {
  ASSIGN_OR_RETURN(auto link, DaemonLink::Connect(SocketPath(settings)));
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (;;) {
    ASSIGN_OR_RETURN(const auto status, link.Status());
    if (watch && terminal && !as_json) fmt::print("\x1b[H\x1b[2J");
    fmt::print("{}\n", as_json ? status.dump(watch ? -1 : 2) : StatusText(status));
    if (std::fflush(stdout) != 0) return kOutput;
    if (!watch) return kDone;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

CommandResult<int> WriteTrace(const Settings& settings, const std::string& file) {
  ASSIGN_OR_RETURN(auto link, DaemonLink::Connect(SocketPath(settings)));
  ASSIGN_OR_RETURN(const auto trace, link.Trace());
  if (file == "-") {
    fmt::print("{}\n", trace);
    return std::fflush(stdout) == 0 ? kDone : kOutput;
  }
  std::ofstream out(file);
  out << trace << '\n';
  out.close();
  if (!out) return ReportError(kOutput, "cannot write {}; choose a writable path", file);
  fmt::print("wrote {} ({} KiB); open it at https://ui.perfetto.dev\n", file,
             trace.size() / 1024 + 1);
  return kDone;
}

CommandResult<int> StopDaemon(const Settings& settings, bool force) {
  const auto socket = SocketPath(settings);
  ASSIGN_OR_RETURN(auto link, DaemonLink::Connect(socket));
  ASSIGN_OR_RETURN(const auto answer, link.Stop(force));
  if (!answer.value("allowed", false)) {
    return ReportError(kPermission, "only the daemon's user and root may stop it");
  }
  if (!answer.value("stops", false)) {
    return ReportError(kClients,
                       "{} programs are connected; wait for them, or use "
                       "--force (they continue without the daemon)",
                       answer.value("clients", 0));
  }
  // The daemon has exited once its socket refuses connections.
  for (int i = 0; i < 1000; ++i) {
    if (!DaemonLink::Connect(socket)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fmt::print("daemon stopped\n");
  return kDone;
}

int ShowConfiguration(const daemon::Configuration& configuration) {
  fmt::print("{:<16} {:<20} {}\n", "key", "value", "from");
  for (const auto& info : daemon::AllSettings()) {
    fmt::print("{:<16} {:<20} {}\n", info.key, configuration.ValueOf(info.key),
               configuration.OriginOf(info.key));
  }
  for (const auto& one : configuration.settings().classes) {
    fmt::print("{:<16} {:<20} {}\n", "class", one.name, one.origin);
  }
  for (const auto& one : configuration.settings().quotas) {
    fmt::print("{:<16} {:<20} {}\n", "quota", one.user != "*" ? one.user : one.group, one.origin);
  }
  return kDone;
}

int ShowConfigurationPath() {
  const auto path = daemon::ConfigurationPath(platform::ProcessEnvironment);
  std::error_code error;
  fmt::print("{}{}\n", path.string(),
             std::filesystem::exists(path, error) ? "" : " (does not exist)");
  return kDone;
}

CommandResult<int> MetricsCommand(int, char** argv) {
  return ExecuteSibling("reveza-metrics", "prometheus-cpp (Debian: prometheus-cpp-dev)", argv);
}

CommandResult<int> WebCommand(int, char** argv) {
  return ExecuteSibling("reveza-web", "cpp-httplib (Debian: libcpp-httplib-dev) and uPlot", argv);
}

int ShowVersion() {
  fmt::print("reveza {} (protocol {})\n", REVEZA_VERSION, wire::kVersion);
  return kDone;
}

std::string Shorten(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  if (width <= 3) return text.substr(0, width);
  return text.substr(0, width - 3) + "...";
}

std::string StatusText(const json& status) {
  const auto host = status.value("host", json::object());
  std::string text = fmt::format(
      "revezad {}, pid {}, up {}; host memory for swapping: {} of {}", status.value("version", ""),
      status.value("pid", 0), FormatSeconds(status.value("uptime_s", 0.0)),
      FormatBytes(host.value("reserved", Bytes{0})), FormatBytes(host.value("budget", Bytes{0})));
  for (const auto& gpu : status.value("gpus", json::array())) text += "\n\n" + GpuText(gpu);
  const auto clients = status.value("clients", json::array());
  if (clients.empty()) return text + "\n\nno programs";
  text += fmt::format("\n\n{:>8} {:<15} {:<12} {:>9} {:>9} {:>9} {:>7} {:>5} {:>5}", "pid", "name",
                      "state", "resident", "swapped", "fixed", "wanted", "got", "turns");
  for (const auto& client : clients) text += "\n" + ClientText(client);
  return text;
}

}  // namespace reveza::cli
