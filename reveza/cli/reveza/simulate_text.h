// The output of `reveza simulate`. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reveza/gpu/simulator/simulation.h"

namespace reveza::cli {

// Returns a lane for each job of the first node, 72 columns of equal time, up to 40 jobs.
std::string SimulationPicture(const simulator::Simulation& simulation);
// Returns a table of the jobs, up to 40, and the sums.
std::string SimulationText(const simulator::Simulation& simulation);
nlohmann::ordered_json SimulationJson(const simulator::Simulation& simulation);
// Returns the time line of the first node as `reveza trace` writes it.
nlohmann::json SimulationTrace(const simulator::Simulation& simulation);

}  // namespace reveza::cli
