// How the coherent model's people and thieves behave, as sections of a configuration file. The
// names are those of the members of coherent::Parameters. BehaviourText is a pure
// function of its argument.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "datagen/coherent/parameters.h"
#include "datagen/run/behaviour_entries.h"

namespace reveza::datagen {

// Where each number of some parameters is, by its name. Safe from any thread that owns these.
class BehaviourKeys {
 public:
  // The parameters must stay where they are while it is used.
  explicit BehaviourKeys(coherent::Parameters& parameters);

  // `key` with its section: typologies.PHISHING.weight. What does not fit together is found when
  // the model is made.
  Status Set(std::string_view key, std::string_view value) const;

 private:
  std::unordered_map<std::string, BehaviourPlace> places_;
};

// All of it as sections of a file; the rest of `parameters` is not looked at.
std::string BehaviourText(const coherent::Parameters& parameters);

}  // namespace reveza::datagen
