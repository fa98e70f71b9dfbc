// Reads networks of binary nodes.
//
// CSV: one row of the transition matrix per line, separated by commas, semicolons, tabs or blanks;
// a first line that is not numeric names the nodes; # begins a comment. JSON: an array of rows, or
// an object with the rows as "tpm" and optionally "labels" (an array of names) and "state" (an
// array of 0 and 1), like PyPhi's network files. Thread-safe: functions without shared state.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/discrete_system.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

struct Network {
  TransitionMatrix matrix;
  std::vector<std::string> labels;  // one per node; default A, B, C, ...
  std::optional<Nodes> state;       // if given
};

// Makes a network from rows of a transition matrix; without labels, nodes are A, B, C, ...
Result<Network> NetworkFromRows(const std::vector<std::vector<double>>& rows,
                                std::vector<std::string> labels);
Result<Network> NetworkFromCsv(std::string_view text);
Result<Network> NetworkFromJson(std::string_view text);
// Reads a file, as JSON or CSV by its first character. Errors name the file.
Result<Network> ReadNetwork(const std::filesystem::path& path);

// Built-in networks.
struct BuiltInNetworkInfo {
  std::string_view name;
  std::string_view meaning;
  int nodes;
  double (*on)(Nodes state, int node);  // P(node is on next | state)
};
const std::vector<BuiltInNetworkInfo>& BuiltInNetworks();
Result<Network> BuiltInNetwork(std::string_view name);

// Parses "1,0,0" or "100", the state of each node in order.
Result<Nodes> ParseState(std::string_view text, int nodes);
// Parses "A,C" or "0,2", nodes by label or index.
Result<Nodes> ParseNodes(std::string_view text, const std::vector<std::string>& labels);
// Returns the labels of `nodes`, in order.
std::vector<std::string> LabelsOf(Nodes nodes, const std::vector<std::string>& labels);
// Formats nodes as "A,C"; "-" for none.
std::string NodesText(Nodes nodes, const std::vector<std::string>& labels);

}  // namespace reveza::phi
