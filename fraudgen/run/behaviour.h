// The behaviour parameters of the coherent model as sections of a configuration file. Keys are the
// member names of coherent::Parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/settings/document.h"
#include "fraudgen/model/coherent/parameters.h"

namespace reveza::fraudgen {

using BehaviourField = std::variant<uint32_t*, int32_t*, int64_t*>;

struct BehaviourEntry {
  std::string section;
  std::string key;
  BehaviourField field;

  std::string Name() const { return section + "." + key; }
};

// Returns all entries but those of scenarios in display order, grouped by section. They point into
// `parameters`.
std::vector<BehaviourEntry> BehaviourEntries(coherent::Parameters& parameters);

// Sets parameters by name. Not thread-safe.
class BehaviourKeys {
 public:
  // `parameters` must outlive this object.
  explicit BehaviourKeys(coherent::Parameters& parameters);

  // Sets a key with its section: chains.most_hops. Combinations are validated when the model is
  // made. kInvalidArgument: unknown key or invalid value.
  Status Set(std::string_view key, std::string_view value) const;

 private:
  std::unordered_map<std::string, BehaviourField> fields_;
};

// Adds the scenarios of a configuration file, and removes them from its document.
Status TakeScenarios(Node& root, std::string_view file, coherent::Parameters& parameters);

// Returns the sections and scenarios of a configuration file with all behaviour parameters.
std::string BehaviourText(const coherent::Parameters& parameters);

}  // namespace reveza::fraudgen
