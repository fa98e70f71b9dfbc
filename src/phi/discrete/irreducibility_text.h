// An analysis as text for people and as JSON for programs. Thread-safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "phi/discrete/network_file.h"
#include "phi/discrete/system_irreducibility.h"

namespace reveza::phi {

// A table of the concepts, Phi and the cut.
std::string TextOf(const SystemIrreducibility& result, const Network& network);
// One line a system, and which is the major complex.
std::string TextOf(const Complexes& complexes, const Network& network);

nlohmann::json JsonOf(const SystemIrreducibility& result, const Network& network);
nlohmann::json JsonOf(const Complexes& complexes, const Network& network);
// What all that is computed by.
nlohmann::json ConventionsAsJson();

}  // namespace reveza::phi
