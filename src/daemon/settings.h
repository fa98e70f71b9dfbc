// What can be set about Reveza, and where each value came from.
//
// Three layers, each over the one before: the configuration file, the environment, the command
// line. A value that is wrong is refused with the place where it stands and what would be right.
// Thread-safety: values.
#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "platform/runtime_paths.h"

namespace reveza::daemon {

using std::chrono::nanoseconds;

struct Settings {
  std::optional<Bytes> gpu_budget;        // nothing: the card less the reserve
  std::optional<Bytes> gpu_reserve;       // nothing: 1/32 of the card, at most 512 MiB
  std::optional<Bytes> context_estimate;  // nothing: 640 MiB
  std::optional<Bytes> host_budget;       // nothing: 80 % of what the machine can give at start
  double handover_share = 0.05;
  nanoseconds slice_floor = std::chrono::milliseconds(500);
  nanoseconds slice_ceiling = std::chrono::seconds(30);
  nanoseconds max_wait = std::chrono::seconds(120);
  nanoseconds drain_limit = std::chrono::seconds(2);
  nanoseconds queue_bound = std::chrono::milliseconds(100);
  nanoseconds linger = std::chrono::seconds(60);
  std::string socket;  // empty: where the user's runtime files are
  std::string group;   // empty: this user alone
  std::string log_level = "info";
};

struct SettingInfo {
  std::string_view key;          // in the file, and as --key with dashes
  std::string_view environment;  // REVEZA_...
  std::string_view meaning;
  std::string_view example;
};

// All settings, in the order in which they are shown.
std::span<const SettingInfo> AllSettings();

class Configuration {
 public:
  Configuration();

  // Adds a layer. `text` is TOML, `name` is how the file is called in messages
  // ("file:3: unknown key 'gpu_buget'; did you mean 'gpu_budget'?").
  Status AddText(std::string_view text, const std::string& name);
  // A file that does not exist is an empty one, unless it was named by the user.
  Status AddFile(const std::filesystem::path& path, bool must_exist);
  Status AddEnvironment(const platform::Environment& environment);
  Status AddFlag(std::string_view key, std::string_view value);
  // What fits together only, once all layers are in.
  Status Check() const;

  const Settings& settings() const { return settings_; }
  // As it would be written in the file; and where it came from ("default", "config.toml:3",
  // "REVEZA_GPU_BUDGET", "--gpu-budget").
  std::string ValueOf(std::string_view key) const;
  const std::string& OriginOf(std::string_view key) const;

 private:
  Status Set(std::string_view key, std::string_view value, std::string origin);

  Settings settings_;
  std::array<std::string, 14> origins_;
};

// $REVEZA_CONFIG, else $XDG_CONFIG_HOME/reveza/config.toml, else ~/.config/reveza/config.toml.
std::filesystem::path ConfigurationPath(const platform::Environment& environment);

// File and environment; the command line is added by the caller.
Result<Configuration> LoadConfiguration(const platform::Environment& environment);

}  // namespace reveza::daemon
