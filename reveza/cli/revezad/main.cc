// The daemon: loads its settings, listens at its socket, and runs the event loop.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/cli/command_line.h"
#include "common/cli/exit_status.h"
#include "common/cli/introspection.h"
#include "common/platform/clock.h"
#include "common/platform/machine.h"
#include "common/platform/process.h"
#include "common/platform/runtime_paths.h"
#include "common/version/version.h"
#include "reveza/gpu/daemon/server.h"
#include "reveza/gpu/daemon/settings.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/gpu/usage/recorder.h"

namespace reveza {
namespace {

// Beyond those of common/cli/exit_status.h; see docs/errors.md.
constexpr ExitStatus kConfiguration{3};
constexpr ExitStatus kBudget{4};
constexpr ExitStatus kAnotherDaemon{13};

// In pt_BR.po.
constexpr command_line::Translation kPortuguese[] = {
#include "generated/reveza/cli/revezad/pt_br.inc"
};

constexpr command_line::Program kProgram = {
    .name = "revezad", .memory_hint = "free some memory", .portuguese = kPortuguese};

int ReportError(ExitStatus status, std::string_view message) {
  return PrintError(kProgram.name, status, message);
}

std::string FlagOf(std::string_view key) {
  std::string flag = fmt::format("--{}", key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// Raises the soft limit of open files to the hard limit: each client takes two descriptors.
void RaiseOpenFilesLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(daemon::Settings settings) {
  RaiseOpenFilesLimit();
  auto logger = MakeLogger(settings.log_level);
  if (!logger) return ReportError(kConfiguration, logger.error().message);
  daemon::ServerOptions options;
  options.handle_signals = true;
  options.socket = settings.socket;
  if (options.socket.empty()) {
    options.socket = platform::UserSocket(platform::ProcessEnvironment, getuid());
  }
  if (!settings.group.empty()) {
    const auto group = platform::GroupByNameOrNumber(settings.group);
    if (!group) return ReportError(kConfiguration, group.error().message);
    options.group = *group;
  }
  if (auto folder = platform::PrepareSocketFolder(options.socket, getuid()); !folder) {
    return ReportError(kFailed, folder.error().message);
  }
  options.host_budget = settings.host_budget.value_or(
      static_cast<Bytes>(0.8 * static_cast<double>(platform::MemoryHeadroom().value_or(0))));

  auto monitor = nvml::LoadNvml();
  nvml::GpuMonitor* gpus = monitor ? monitor->get() : nullptr;
  if (!monitor) (*logger)->info("NVML is unavailable: {}", monitor.error().message);
  const auto card = monitor ? nvml::LargestGpuMemory(**monitor) : std::nullopt;
  if (settings.gpu_budget && card && *settings.gpu_budget > *card) {
    return ReportError(kBudget,
                       fmt::format("gpu_budget {} exceeds the GPU's memory; the maximum is {}",
                                   FormatBytes(*settings.gpu_budget), FormatBytes(*card)));
  }

  std::optional<usage::Recorder> recorder;
  if (settings.usage_file != "off") {
    const auto file = settings.usage_file.empty()
                          ? usage::DefaultFile(platform::ProcessEnvironment)
                          : Result<std::filesystem::path>(settings.usage_file);
    if (file) options.usage = &recorder.emplace(*file, *logger);
    if (!file) (*logger)->warn("usage is not recorded: {}", file.error().message);
    settings.usage_file = file ? file->string() : "off";
  }

  const platform::MonotonicClock clock;
  auto server = daemon::Server::Make(settings, options, clock, gpus, *logger);
  if (!server) {
    const bool in_use = server.error().code == Error::Code::kUnavailable;
    return ReportError(in_use ? kAnotherDaemon : kFailed, server.error().message);
  }
  const auto result = (*server)->Run();
  return result ? kDone : ReportError(kFailed, result.error().message);
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Schedules the programs that share this machine's GPUs. `reveza run` starts it as needed.",
      "revezad");
  app.set_version_flag("--version", version::Text("revezad"));
  std::map<std::string, std::string> flags;
  for (const auto& info : daemon::AllSettings()) {
    app.add_option(FlagOf(info.key), flags[std::string(info.key)],
                   fmt::format("{}, e.g. {}", info.meaning, info.example))
        ->type_name("VALUE");
  }
  app.footer(
      "Options override the environment, which overrides the configuration file; `reveza config "
      "show`\nlists all settings.\n\n"
      "Example:\n  revezad --gpu-budget 24GiB --log-level debug");
  if (const auto status = command_line::AnswerCompletion(
          app, argc, argv, {}, {.section = 8, .version = REVEZA_VERSION, .see_also = "reveza(1)"},
          kPortuguese)) {
    return *status;
  }
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;
  auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return ReportError(kConfiguration, configuration.error().message);
  for (const auto& [key, value] : flags) {
    if (app.count(FlagOf(key)) == 0) continue;
    if (auto added = configuration->AddFlag(key, value); !added) {
      return ReportError(kUsage, added.error().message);
    }
  }
  if (auto checked = configuration->Check(); !checked) {
    return ReportError(kConfiguration, checked.error().message);
  }
  return Serve(configuration->settings());
}

}  // namespace
}  // namespace reveza

int main(int argc, char** argv) {
  return reveza::command_line::Run(reveza::kProgram, [=] { return reveza::Main(argc, argv); });
}
