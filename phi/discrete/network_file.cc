#include "phi/discrete/network_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/read_file.h"

namespace reveza::phi {
namespace {

using nlohmann::json;

std::vector<std::string_view> Words(std::string_view line) {
  constexpr std::string_view kBetween = ",; \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBetween); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBetween, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBetween, end);
  }
  return words;
}

std::string UsualLabel(int node) { return std::string(1, static_cast<char>('A' + node)); }

Result<std::vector<std::vector<double>>> RowsOf(const json& value) {
  const std::string kRight =
      "the transition matrix must be an array of rows, each an array of probabilities";
  if (!value.is_array()) return InvalidArgument(kRight);
  std::vector<std::vector<double>> rows;
  for (const json& row : value) {
    if (!row.is_array()) return InvalidArgument(kRight);
    rows.emplace_back();
    for (const json& number : row) {
      if (!number.is_number()) {
        return InvalidArgument("row {} of the transition matrix contains {}; {}", rows.size(),
                               number.dump(), kRight);
      }
      rows.back().push_back(number.get<double>());
    }
  }
  return rows;
}

Result<Nodes> StateOf(const json& value, int nodes) {
  std::string text;
  for (const json& bit : value) {
    if (bit != 0 && bit != 1)
      return InvalidArgument("\"state\" contains {}; use 0 or 1 for each node", bit.dump());
    text += bit == 1 ? '1' : '0';
  }
  return ParseState(text, nodes);
}

// Return the probability that a node is on after `state`.
double OrCopyXor(Nodes state, int node) {
  const Nodes a = state & 1;
  const Nodes b = state >> 1 & 1;
  const Nodes c = state >> 2 & 1;
  return static_cast<double>(node == 0 ? b | c : node == 1 ? c : a ^ b);
}
double XorOfOthers(Nodes state, int node) {
  return static_cast<double>(std::popcount(state & ~(Nodes{1} << node)) & 1);
}
double CopyOfTheOneBefore(Nodes state, int node) {
  return (state >> ((node + 3) % 4) & 1) != 0 ? 0.9 : 0.1;
}

}  // namespace

Result<Network> NetworkFromRows(const std::vector<std::vector<double>>& rows,
                                std::vector<std::string> labels) {
  ASSIGN_OR_RETURN(auto matrix, ToTransitionMatrix(rows));
  const auto nodes = static_cast<std::size_t>(matrix.nodes);
  if (labels.size() != nodes && !labels.empty() && labels.size() != rows.size()) {
    return InvalidArgument("{} labels for {} nodes; give one per node", labels.size(), nodes);
  }
  // Columns of a state-by-state matrix are named after states, not nodes.
  if (labels.size() != nodes) {
    labels.clear();
    for (int node = 0; node < matrix.nodes; ++node) labels.push_back(UsualLabel(node));
  }
  return Network{std::move(matrix), std::move(labels), std::nullopt};
}

Result<Network> NetworkFromCsv(std::string_view text) {
  std::vector<std::vector<double>> rows;
  std::vector<std::string> labels;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = line.substr(0, line.find('#'));
    const auto words = Words(line);
    if (words.empty()) continue;
    if (rows.empty() && labels.empty() && !ParseNumber<double>(words.front())) {
      labels.assign(words.begin(), words.end());
      continue;
    }
    rows.emplace_back();
    for (const std::string_view word : words) {
      const auto value = ParseNumber<double>(word);
      if (!value) {
        return InvalidArgument(
            "line {}: '{}' is not a number; rows of the transition matrix are probabilities",
            number, word);
      }
      rows.back().push_back(*value);
    }
  }
  return NetworkFromRows(rows, std::move(labels));
}

Result<Network> NetworkFromJson(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return InvalidArgument("invalid JSON");
  if (!document.is_object()) {
    ASSIGN_OR_RETURN(const auto rows, RowsOf(document));
    return NetworkFromRows(rows, {});
  }
  if (!document.contains("tpm"))
    return InvalidArgument("\"tpm\", the transition matrix, is missing");
  ASSIGN_OR_RETURN(const auto rows, RowsOf(document["tpm"]));
  std::vector<std::string> labels;
  for (const char* key : {"labels", "node_labels", "nodes"}) {
    if (!document.contains(key) || !document[key].is_array() || !labels.empty()) continue;
    for (const json& label : document[key]) {
      if (label.is_string()) labels.push_back(label.get<std::string>());
    }
  }
  auto network = NetworkFromRows(rows, std::move(labels));
  if (network && document.contains("state") && document["state"].is_array()) {
    ASSIGN_OR_RETURN(network->state, StateOf(document["state"], network->matrix.nodes));
  }
  return network;
}

Result<Network> ReadNetwork(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const auto text, ReadFile(path));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  auto network = is_json ? NetworkFromJson(text) : NetworkFromCsv(text);
  if (!network) {
    return Fail(network.error().code, "{}: {}", path.string(), network.error().message);
  }
  return network;
}

const std::vector<BuiltInNetworkInfo>& BuiltInNetworks() {
  static const std::vector<BuiltInNetworkInfo> kNetworks = {
      {"or-copy-xor", "A = B or C, B = C, C = A xor B; Phi 2.3125 in the state 1,0,0", 3,
       OrCopyXor},
      {"xor", "each of three nodes is the xor of the other two", 3, XorOfOthers},
      {"ring", "four nodes, each a copy of the one before it with probability 0.9", 4,
       CopyOfTheOneBefore},
  };
  return kNetworks;
}

Result<Network> BuiltInNetwork(std::string_view name) {
  const auto& networks = BuiltInNetworks();
  if (const auto known = std::ranges::find(networks, name, &BuiltInNetworkInfo::name);
      known != networks.end()) {
    std::vector<std::vector<double>> rows;
    for (Nodes state = 0; state < Nodes{1} << known->nodes; ++state) {
      rows.emplace_back();
      for (int node = 0; node < known->nodes; ++node) rows.back().push_back(known->on(state, node));
    }
    return NetworkFromRows(rows, {});
  }
  std::vector<std::string_view> names;
  for (const BuiltInNetworkInfo& known : networks) names.push_back(known.name);
  return InvalidArgument("--network: unknown network '{}'{}; use one of {}", name,
                         DidYouMean(name, names), fmt::join(names, ", "));
}

Result<Nodes> ParseState(std::string_view text, int nodes) {
  Nodes state = 0;
  int count = 0;
  for (const char letter : text) {
    if (letter == ',' || letter == ' ') continue;
    if ((letter != '0' && letter != '1') || count == nodes) {
      count = nodes + 1;
      break;
    }
    if (letter == '1') state |= Nodes{1} << count;
    ++count;
  }
  if (count != nodes) {
    return InvalidArgument(
        "'{}' is not a state of {} nodes; write {} comma-separated bits, first node first", text,
        nodes, nodes);
  }
  return state;
}

Result<Nodes> ParseNodes(std::string_view text, const std::vector<std::string>& labels) {
  Nodes nodes = 0;
  for (const std::string_view word : Words(text)) {
    auto found = std::ranges::find(labels, word);
    const auto number = ParseNumber<double>(word);
    if (found == labels.end() && number && *number >= 0 &&
        *number < static_cast<double>(labels.size()) && *number == std::floor(*number)) {
      found = labels.begin() + static_cast<std::ptrdiff_t>(*number);
    }
    if (found == labels.end()) {
      return InvalidArgument("no node '{}'; the nodes are {}", word, fmt::join(labels, ", "));
    }
    nodes |= Nodes{1} << (found - labels.begin());
  }
  if (nodes == 0) return InvalidArgument("no nodes given; list some, such as A,B");
  return nodes;
}

std::vector<std::string> LabelsOf(Nodes nodes, const std::vector<std::string>& labels) {
  std::vector<std::string> chosen;
  for (std::size_t node = 0; node < labels.size(); ++node) {
    if ((nodes >> node & 1) != 0) chosen.push_back(labels[node]);
  }
  return chosen;
}

std::string NodesText(Nodes nodes, const std::vector<std::string>& labels) {
  return nodes == 0 ? "-" : fmt::format("{}", fmt::join(LabelsOf(nodes, labels), ","));
}

}  // namespace reveza::phi
