// Settings of Reveza and the origin of each value.
//
// Three layers, in ascending precedence: configuration file, environment, command line. Errors name
// the location of the invalid value and what would be valid.
//
// Thread-compatible value types.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/platform/runtime_paths.h"
#include "common/settings/layered_settings.h"
#include "reveza/gpu/daemon/classes.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::daemon {

using std::chrono::nanoseconds;

// Whether programs run under MPS (docs/mps.md) that do not ask for it.
enum class MpsMode { kOff, kAuto };

struct Settings {
  std::optional<Bytes> gpu_budget;        // unset: the GPU less the reserve
  std::optional<Bytes> gpu_reserve;       // unset: 1/32 of the GPU, at most 512 MiB
  std::optional<Bytes> context_estimate;  // unset: 640 MiB
  std::optional<Bytes> host_budget;       // unset: 80 % of the memory available at start
  double handover_share = scheduler::Config{}.handover_share;
  nanoseconds slice_floor = scheduler::Config{}.slice_floor;
  nanoseconds slice_ceiling = scheduler::Config{}.slice_ceiling;
  nanoseconds max_wait = scheduler::Config{}.max_wait;
  nanoseconds drain_limit = scheduler::Config{}.drain_limit;
  nanoseconds queue_bound = std::chrono::milliseconds(100);
  nanoseconds release_contexts_after = scheduler::Config{}.release_contexts_after;
  nanoseconds linger = std::chrono::seconds(60);
  std::string socket;      // empty: in the user's runtime directory
  std::string group;       // empty: only this user
  std::string usage_file;  // empty: in the user's state folder; "off": none
  MpsMode mps = MpsMode::kOff;
  std::string log_level = "info";
  std::vector<PolicyClass> classes;  // of files only, as quotas
  std::vector<QuotaRule> quotas;
};

struct SettingInfo {
  std::string_view key;          // in the file, and as --key with dashes
  std::string_view environment;  // REVEZA_...
  std::string_view meaning;
  std::string_view example;
};

// Returns all settings in display order.
std::span<const SettingInfo> AllSettings();

struct Setting {
  SettingInfo info;
  Status (*parse)(Settings&, std::string_view);
  std::string (*format)(const Settings&);
  bool is_bytes;
};

class Configuration {
 public:
  Configuration();

  // Adds a layer of TOML text; `name` is the file name in errors
  // ("file:3: unknown key 'gpu_buget'; did you mean 'gpu_budget'?").
  Status AddText(std::string_view text, const std::string& name);
  // Adds a file; a missing file is an error only if `must_exist`.
  Status AddFile(const std::filesystem::path& path, bool must_exist);
  Status AddEnvironment(const platform::Environment& environment);
  Status AddFlag(std::string_view key, std::string_view value);
  // Validates the combination of settings. Call after all layers were added.
  Status Check() const;

  const Settings& settings() const { return layers_.values(); }
  // Returns the value as written in a file.
  // OriginOf() returns its origin: "default", "config.toml:3", "REVEZA_GPU_BUDGET", "--gpu-budget".
  std::string ValueOf(std::string_view key) const;
  const std::string& OriginOf(std::string_view key) const { return layers_.OriginOf(key).place; }

 private:
  LayeredSettings<Settings, Setting> layers_;
};

// Returns $REVEZA_CONFIG, else $XDG_CONFIG_HOME/reveza/config.toml, else
// ~/.config/reveza/config.toml.
std::filesystem::path ConfigurationPath(const platform::Environment& environment);

// Loads file and environment; the caller adds the command line.
Result<Configuration> LoadConfiguration(const platform::Environment& environment);

}  // namespace reveza::daemon
