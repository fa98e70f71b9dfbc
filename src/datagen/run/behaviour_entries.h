// What of the coherent model's behaviour has a name in the configuration, and where it is kept.
// Safe from any thread that owns the parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "datagen/coherent/parameters.h"

namespace reveza::datagen {

using BehaviourPlace = std::variant<uint32_t*, int32_t*, int64_t*, bool*, coherent::DeviceUse*,
                                    coherent::HourUse*, coherent::Goods*>;

struct BehaviourEntry {
  std::string section;
  std::string key;
  BehaviourPlace place;

  std::string Name() const { return section + "." + key; }
};

// In the order in which they are shown; those of a section stand together.
std::vector<BehaviourEntry> BehaviourEntries(coherent::Parameters& parameters);

}  // namespace reveza::datagen
