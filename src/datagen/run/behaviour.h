// How the coherent model's people and thieves behave, as sections of a configuration file. The
// names are those of the members of coherent::Parameters. Pure functions of their arguments.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "datagen/coherent/parameters.h"

namespace reveza::datagen {

// `key` with its section: typologies.PHISHING.weight. What does not fit together is found when the
// model is made.
Status SetBehaviour(coherent::Parameters& parameters, std::string_view key, std::string_view value);

// All of it as sections of a file; the rest of `parameters` is not looked at.
std::string BehaviourText(const coherent::Parameters& parameters);

}  // namespace reveza::datagen
