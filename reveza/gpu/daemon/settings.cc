#include "reveza/gpu/daemon/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "common/base/parse_number.h"
#include "common/base/units.h"
#include "common/platform/text_file.h"

namespace reveza::daemon {
namespace {

Result<double> ParseShare(std::string_view text) {
  const auto value = ParseNumber<double>(text);
  if (value && *value > 0.0 && *value <= 0.5) return *value;
  return InvalidArgument(
      fmt::format("'{}' is not a valid share; use a number from 0.001 to 0.5", text));
}

Status ParseInto(std::optional<Bytes>& to, std::string_view text) {
  ASSIGN_OR_RETURN(to, ParseBytes(text));
  return {};
}
Status ParseInto(double& to, std::string_view text) {
  ASSIGN_OR_RETURN(to, ParseShare(text));
  return {};
}
Status ParseInto(nanoseconds& to, std::string_view text) {
  ASSIGN_OR_RETURN(to, ParseDuration(text));
  return {};
}
Status ParseInto(std::string& to, std::string_view text) {
  to = text;
  return {};
}
Status ParseInto(MpsMode& to, std::string_view text) {
  if (text != "off" && text != "auto") {
    return InvalidArgument("'{}' is not a valid mps; use off or auto", text);
  }
  to = text == "auto" ? MpsMode::kAuto : MpsMode::kOff;
  return {};
}

std::string FormatSetting(const std::optional<Bytes>& value) {
  return value ? FormatBytes(*value) : "automatic";
}
std::string FormatSetting(double value) { return fmt::format("{}", value); }
std::string FormatSetting(nanoseconds value) { return FormatDuration(value); }
std::string FormatSetting(const std::string& value) { return value.empty() ? "automatic" : value; }
std::string FormatSetting(MpsMode value) { return value == MpsMode::kAuto ? "auto" : "off"; }

// Returns the setting stored in a member of Settings.
template <auto kMember>
constexpr Setting Stored(SettingInfo info) {
  return {.info = info,
          .parse = [](Settings& s, std::string_view text) { return ParseInto(s.*kMember, text); },
          .format = [](const Settings& s) { return FormatSetting(s.*kMember); },
          .is_bytes = std::is_same_v<decltype(kMember), std::optional<Bytes> Settings::*>};
}

constexpr auto kTable = std::to_array<Setting>({
    Stored<&Settings::gpu_budget>(
        {"gpu_budget", "REVEZA_GPU_BUDGET", "GPU memory budget of all programs", "24GiB"}),
    Stored<&Settings::gpu_reserve>({"gpu_reserve", "REVEZA_GPU_RESERVE",
                                    "GPU memory reserved for modules and local memory", "512MiB"}),
    Stored<&Settings::context_estimate>({"context_estimate", "REVEZA_CONTEXT_ESTIMATE",
                                         "estimated GPU memory of a context", "640MiB"}),
    Stored<&Settings::host_budget>({"host_budget", "REVEZA_HOST_BUDGET",
                                    "host memory budget for swapped-out GPU memory", "64GiB"}),
    Stored<&Settings::handover_share>({"handover_share", "REVEZA_HANDOVER_SHARE",
                                       "maximum share of a slice spent on its handover", "0.05"}),
    Stored<&Settings::slice_floor>(
        {"slice_floor", "REVEZA_SLICE_FLOOR", "minimum time slice", "500ms"}),
    Stored<&Settings::slice_ceiling>(
        {"slice_ceiling", "REVEZA_SLICE_CEILING", "maximum time slice", "30s"}),
    Stored<&Settings::max_wait>({"max_wait", "REVEZA_MAX_WAIT",
                                 "maximum wait for a turn before programs are queued", "2min"}),
    Stored<&Settings::drain_limit>(
        {"drain_limit", "REVEZA_DRAIN_LIMIT", "time limit for GPU work to drain", "2s"}),
    Stored<&Settings::queue_bound>(
        {"queue_bound", "REVEZA_QUEUE_BOUND", "GPU work queued ahead under contention", "100ms"}),
    Stored<&Settings::release_contexts_after>(
        {"release_contexts_after", "REVEZA_RELEASE_CONTEXTS_AFTER",
         "idle time after which the contexts of a program leave the card; 0s: they stay", "0s"}),
    Stored<&Settings::linger>(
        {"linger", "REVEZA_LINGER", "time without programs after which the daemon exits", "60s"}),
    Stored<&Settings::socket>({"socket", "REVEZA_SOCKET", "path of the daemon's socket",
                               "/run/user/1000/reveza/revezad.sock"}),
    Stored<&Settings::group>({"group", "REVEZA_GROUP",
                              "group with access to a system-wide daemon, or its number", "video"}),
    Stored<&Settings::usage_file>({"usage_file", "REVEZA_USAGE_FILE",
                                   "database of what programs used, or off",
                                   "/var/lib/reveza/usage.db"}),
    Stored<&Settings::mps>({"mps", "REVEZA_MPS",
                            "run all programs under MPS, where it can be started: off or auto",
                            "auto"}),
    Stored<&Settings::log_level>(
        {"log_level", "REVEZA_LOG_LEVEL", "debug, info, warning, error or off", "info"}),
});

}  // namespace

std::span<const SettingInfo> AllSettings() {
  static constexpr auto kInfos = [] {
    std::array<SettingInfo, kTable.size()> all = {};
    std::ranges::transform(kTable, all.begin(), &Setting::info);
    return all;
  }();
  return kInfos;
}

Configuration::Configuration() : layers_(kTable, "reveza config show") {}

Status Configuration::AddText(std::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(Node root, ParseToml(text, name));
  ASSIGN_OR_RETURN(auto classes, ParseClasses(root, name));
  ASSIGN_OR_RETURN(auto quotas, ParseQuotas(root, name));
  std::erase_if(root.members, [](const Member& member) {
    return member.key == "class" || member.key == "quota";
  });
  ASSIGN_OR_RETURN(const auto settings, SettingsOf(root, name));
  for (const FileSetting& setting : settings) {
    RETURN_IF_ERROR(layers_.Set(setting.key, setting.value,
                                {Layer::kFile, fmt::format("{}:{}", name, setting.line)}));
  }
  std::ranges::move(classes, std::back_inserter(layers_.values().classes));
  std::ranges::move(quotas, std::back_inserter(layers_.values().quotas));
  return {};
}

Status Configuration::AddFile(const std::filesystem::path& path, bool must_exist) {
  const auto text = platform::ReadText(path);
  if (!text) {
    std::error_code error;
    if (!must_exist && !std::filesystem::exists(path, error)) return {};
    return Fail(Error::Code::kNotFound,
                fmt::format("cannot read the configuration file {}", path.string()));
  }
  return AddText(*text, path.string());
}

Status Configuration::AddEnvironment(const platform::Environment& environment) {
  for (const Setting& setting : kTable) {
    const std::string name(setting.info.environment);
    const auto value = environment(name.c_str());
    if (!value) continue;
    // Programs under Reveza receive their budget in plain bytes.
    const bool is_plain = value->find_first_not_of("0123456789") == std::string::npos;
    RETURN_IF_ERROR(layers_.Set(setting.info.key,
                                setting.is_bytes && is_plain ? *value + "B" : *value,
                                {Layer::kEnvironment, name}));
  }
  return {};
}

Status Configuration::AddFlag(std::string_view key, std::string_view value) {
  return layers_.SetOption(key, value);
}

Status Configuration::Check() const {
  const Settings& s = settings();
  if (s.slice_floor > s.slice_ceiling) {
    return InvalidArgument(
        fmt::format("slice_floor ({}) exceeds slice_ceiling ({}); set by {} and {}",
                    FormatDuration(s.slice_floor), FormatDuration(s.slice_ceiling),
                    OriginOf("slice_floor"), OriginOf("slice_ceiling")));
  }
  if (s.slice_floor < std::chrono::milliseconds(1) ||
      s.drain_limit < std::chrono::milliseconds(1) || s.queue_bound.count() <= 0) {
    return InvalidArgument("slice_floor, drain_limit and queue_bound must be at least 1ms");
  }
  if (s.drain_limit > std::chrono::hours(1) || s.queue_bound > std::chrono::hours(1)) {
    return InvalidArgument("drain_limit and queue_bound must be at most 1h");
  }
  if (!s.usage_file.empty() && s.usage_file != "off" && s.usage_file[0] != '/') {
    return InvalidArgument(
        "'{}' is not a valid usage_file (set by {}); use an absolute path or off", s.usage_file,
        OriginOf("usage_file"));
  }
  if (s.gpu_budget && *s.gpu_budget == 0)
    return InvalidArgument("gpu_budget must be greater than 0");
  return {};
}

std::string Configuration::ValueOf(std::string_view key) const {
  const auto setting =
      std::ranges::find(kTable, key, [](const Setting& entry) { return entry.info.key; });
  return setting->format(settings());
}

std::filesystem::path ConfigurationPath(const platform::Environment& environment) {
  if (const auto named = environment("REVEZA_CONFIG")) return *named;
  if (const auto home = environment("XDG_CONFIG_HOME")) {
    return std::filesystem::path(*home) / "reveza" / "config.toml";
  }
  const auto home = environment("HOME").value_or("/");
  return std::filesystem::path(home) / ".config" / "reveza" / "config.toml";
}

Result<Configuration> LoadConfiguration(const platform::Environment& environment) {
  Configuration configuration;
  const bool named = environment("REVEZA_CONFIG").has_value();
  RETURN_IF_ERROR(configuration.AddFile(ConfigurationPath(environment), named));
  RETURN_IF_ERROR(configuration.AddEnvironment(environment));
  return configuration;
}

}  // namespace reveza::daemon
