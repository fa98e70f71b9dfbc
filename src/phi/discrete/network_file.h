// A network of binary nodes as people write it down.
//
// CSV: one row of the transition matrix a line, numbers between commas (or semicolons, tabs,
// blanks); a first line that is not numbers names the nodes; # begins a comment.
// JSON: the rows as an array of arrays, or an object with them as "tpm" and, if wanted, "labels"
// (an array of names) and "state" (an array of 0 and 1). PyPhi's network files are such objects.
// Thread-safety: pure functions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "phi/discrete/subsets.h"
#include "phi/discrete/transition_matrix.h"

namespace reveza::phi {

struct Network {
  TransitionMatrix matrix;
  std::vector<std::string> labels;  // one a node: A, B, C, ... unless it was told
  std::optional<Nodes> state;       // when it was told
};

// Rows from elsewhere; no labels: A, B, C, ...
Result<Network> NetworkFromRows(const std::vector<std::vector<double>>& rows,
                                std::vector<std::string> labels);
Result<Network> NetworkFromCsv(std::string_view text);
Result<Network> NetworkFromJson(std::string_view text);
// By what the file begins with. Errors name the file.
Result<Network> ReadNetwork(const std::filesystem::path& path);

// Networks that need no file.
struct KnownNetwork {
  std::string_view name;
  std::string_view meaning;
};
const std::vector<KnownNetwork>& KnownNetworks();
Result<Network> NetworkOf(std::string_view name);

// "1,0,0" or "100": the state of each node, the first first.
Result<Nodes> ParseState(std::string_view text, int nodes);
// "A,C" or "0,2": nodes by label or number.
Result<Nodes> ParseNodes(std::string_view text, const std::vector<std::string>& labels);
// "A,C"; "-" for none.
std::string NodesText(Nodes nodes, const std::vector<std::string>& labels);

}  // namespace reveza::phi
