// `phi iit --theory 4.0`: systems and complexes as text and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "phi/discrete/iit4.h"
#include "phi/discrete/network_file.h"

namespace reveza::phi {

std::string ToText(const Iit4System& system, const Network& network);
nlohmann::json ToJson(const Iit4System& system, const Network& network);

// One line per system; complexes with their structures.
std::string ToText(const Iit4Complexes& complexes, const Network& network);
nlohmann::json ToJson(const Iit4Complexes& complexes, const Network& network);

}  // namespace reveza::phi
