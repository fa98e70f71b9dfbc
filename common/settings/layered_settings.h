// Settings from layers, each overriding the one before: defaults, a file, the environment, the
// command line. Thread-compatible value types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/settings/document.h"

namespace reveza {

// In ascending precedence.
enum class Layer { kDefault, kFile, kEnvironment, kCommandLine };

struct Origin {
  Layer layer = Layer::kDefault;
  std::string place = "default";  // "my.toml:3", "REVEZA_GPU_BUDGET", "--gpu-budget"
};

// Returns kInvalidArgument "unknown key 'fraud_rat'; did you mean 'fraud_rate'?", or a pointer to
// `command`, which lists the keys, if none is similar.
std::unexpected<Error> UnknownKey(std::string_view key, const std::vector<std::string_view>& keys,
                                  std::string_view command);

// Returns the command-line option of a key: --gpu-budget.
std::string OptionOf(std::string_view key);

// Prefixes the message of an error with a place.
Status WithPlace(std::string_view place, Status status);

// The values of type T, their origins, and the table of settings. An Entry has `info.key` and
// `Status parse(T&, std::string_view)`.
template <typename T, typename Entry>
class LayeredSettings {
 public:
  // `command` lists the keys, for errors. The table must outlive the object.
  LayeredSettings(std::span<const Entry> table, std::string_view command)
      : table_(table), command_(command), origins_(table.size()) {}

  // Errors name the place and the valid values: "my.toml:3: rows: 'x' is invalid; ...".
  Status Set(std::string_view key, std::string_view value, Origin origin) {
    const std::size_t index = IndexOf(key);
    if (index == table_.size()) {
      std::vector<std::string_view> keys;
      for (const Entry& entry : table_) keys.push_back(entry.info.key);
      return WithPlace(origin.place, UnknownKey(key, keys, command_));
    }
    const Status parsed = table_[index].parse(values_, value);
    const bool in_file = origin.layer == Layer::kFile;
    if (!parsed && in_file) return WithPlace(origin.place, WithPlace(key, parsed));
    if (!parsed) return WithPlace(origin.place, parsed);
    origins_[index] = std::move(origin);
    return {};
  }

  Status SetOption(std::string_view key, std::string_view value) {
    return Set(key, value, {Layer::kCommandLine, OptionOf(key)});
  }

  const T& values() const { return values_; }
  T& values() { return values_; }
  // The key must be in the table.
  const Origin& OriginOf(std::string_view key) const { return origins_.at(IndexOf(key)); }

 private:
  std::size_t IndexOf(std::string_view key) const {
    const auto found =
        std::ranges::find(table_, key, [](const Entry& entry) { return entry.info.key; });
    return static_cast<std::size_t>(found - table_.begin());
  }

  std::span<const Entry> table_;
  std::string_view command_;
  T values_;
  std::vector<Origin> origins_;  // in the order of the table
};

}  // namespace reveza
