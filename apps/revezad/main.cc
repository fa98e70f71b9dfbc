// The daemon: reads its settings, takes its socket, and lets the loop run.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/units.h"
#include "daemon/server.h"
#include "daemon/settings.h"
#include "platform/clock.h"
#include "platform/gpu_monitor.h"
#include "platform/host_memory.h"
#include "platform/process.h"
#include "platform/runtime_paths.h"

namespace reveza {
namespace {

// As in docs/errors.md.
enum ExitStatus { kFailed = 1, kUsage = 2, kConfiguration = 3, kBudget = 4, kAnotherDaemon = 13 };

int Say(ExitStatus status, const std::string& message) {
  fmt::print(stderr, "revezad: {}\n", message);
  return status;
}

std::string FlagOf(std::string_view key) {
  std::string flag = fmt::format("--{}", key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// The largest card; nothing where there is none, or one does not say how much it has.
std::optional<Bytes> LargestCard(platform::GpuMonitor* monitor) {
  std::optional<Bytes> largest;
  const auto readings = monitor != nullptr ? monitor->Read() : std::nullopt;
  if (!readings) return largest;
  for (const auto& reading : *readings) {
    if (!reading.total) return std::nullopt;
    largest = std::max(largest, reading.total);
  }
  return largest;
}

// Each program takes two descriptors, and the usual limit is for programs that use select.
void AllowManyDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(const daemon::Settings& settings) {
  AllowManyDescriptors();
  auto logger = MakeLogger(settings.log_level);
  if (!logger) return Say(kConfiguration, logger.error().message);
  daemon::ServerOptions options;
  options.handle_signals = true;
  options.socket = settings.socket;
  if (options.socket.empty()) {
    options.socket = platform::UserSocket(platform::ProcessEnvironment, getuid());
  }
  if (!settings.group.empty()) {
    const auto group = platform::GroupByName(settings.group);
    if (!group) return Say(kConfiguration, group.error().message);
    options.group = *group;
  }
  if (auto folder = platform::PrepareSocketFolder(options.socket, getuid()); !folder) {
    return Say(kFailed, folder.error().message);
  }
  options.host_budget = settings.host_budget.value_or(
      static_cast<Bytes>(0.8 * static_cast<double>(platform::MemoryHeadroom().value_or(0))));

  auto monitor = platform::LoadNvml();
  platform::GpuMonitor* gpus = monitor ? monitor->get() : nullptr;
  if (!monitor) (*logger)->info("without NVML: {}", monitor.error().message);
  const auto card = LargestCard(gpus);
  if (settings.gpu_budget && card && *settings.gpu_budget > *card) {
    return Say(kBudget, fmt::format("gpu_budget {} is more than the card has; at most {}",
                                    FormatBytes(*settings.gpu_budget), FormatBytes(*card)));
  }

  const platform::MonotonicClock clock;
  auto server = daemon::Server::Make(settings, options, clock, gpus, *logger);
  if (!server) {
    const bool taken = server.error().code == Error::Code::kUnavailable;
    return Say(taken ? kAnotherDaemon : kFailed, server.error().message);
  }
  const auto ended = (*server)->Run();
  return ended ? 0 : Say(kFailed, ended.error().message);
}

int Main(int argc, char** argv) {
  CLI::App app("Lets programs take turns on the GPUs of this machine.", "revezad");
  app.set_version_flag("--version", "revezad " REVEZA_VERSION);
  std::map<std::string, std::string> flags;
  for (const auto& info : daemon::AllSettings()) {
    app.add_option(FlagOf(info.key), flags[std::string(info.key)],
                   fmt::format("{} (such as {})", info.meaning, info.example));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Say(kUsage, fmt::format("{}; see revezad --help", error.what()));
  }
  auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return Say(kConfiguration, configuration.error().message);
  for (const auto& [key, value] : flags) {
    if (app.count(FlagOf(key)) == 0) continue;
    if (auto added = configuration->AddFlag(key, value); !added) {
      return Say(kUsage, added.error().message);
    }
  }
  if (auto checked = configuration->Check(); !checked) {
    return Say(kConfiguration, checked.error().message);
  }
  return Serve(configuration->settings());
}

}  // namespace
}  // namespace reveza

int main(int argc, char** argv) { return reveza::Main(argc, argv); }
