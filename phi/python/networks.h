// Networks of binary nodes, as the functions of the module take them and name their nodes.
#pragma once

#include <vector>

#include "common/python/native.h"
#include "phi/discrete/discrete_system.h"
#include "phi/discrete/subsets.h"
#include "phi/python/arrays.h"

namespace reveza::phi {

// A network in a state.
struct Situation {
  TransitionMatrix matrix;
  Nodes state = 0;
};

// Parses a transition matrix and a state of zeros and ones.
Situation SituationOf(const Array& tpm, const std::vector<int>& state);

// Returns the argument `nodes`, by default all nodes.
Nodes MembersOf(const python::Arguments& given, const Situation& of);

// Returns nodes, numbered as in `of`, as their numbers in the network.
nanobind::tuple NodesOf(Nodes nodes, Nodes of);

}  // namespace reveza::phi
