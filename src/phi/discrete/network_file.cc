#include "phi/discrete/network_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file_bytes.h"
#include "base/nearest.h"

namespace reveza::phi {
namespace {

using nlohmann::json;

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

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

std::optional<double> ToNumber(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string UsualLabel(int node) { return std::string(1, static_cast<char>('A' + node)); }

Result<std::vector<std::vector<double>>> RowsOf(const json& value) {
  const std::string kRight =
      "the transition matrix is an array of rows, each an array of probabilities";
  if (!value.is_array()) return Wrong(kRight);
  std::vector<std::vector<double>> rows;
  for (const json& row : value) {
    if (!row.is_array()) return Wrong(kRight);
    rows.emplace_back();
    for (const json& number : row) {
      if (!number.is_number()) {
        return Wrong(fmt::format("row {} of the transition matrix has {}; {}", rows.size(),
                                 number.dump(), kRight));
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
      return Wrong(fmt::format("\"state\" has {}; it is 0 or 1 a node", bit.dump()));
    text += bit == 1 ? '1' : '0';
  }
  return ParseState(text, nodes);
}

// Rows of a network whose nodes are functions of the state.
template <typename Rule>
Result<Network> MadeOf(int nodes, const Rule& rule) {
  std::vector<std::vector<double>> rows;
  for (Nodes state = 0; state < Nodes{1} << nodes; ++state) {
    rows.emplace_back();
    for (int node = 0; node < nodes; ++node) rows.back().push_back(rule(state, node));
  }
  return NetworkFromRows(rows, {});
}

double OrCopyXor(Nodes state, int node) {
  const Nodes a = state & 1;
  const Nodes b = state >> 1 & 1;
  const Nodes c = state >> 2 & 1;
  return static_cast<double>(node == 0 ? b | c : node == 1 ? c : a ^ b);
}

}  // namespace

Result<Network> NetworkFromRows(const std::vector<std::vector<double>>& rows,
                                std::vector<std::string> labels) {
  auto matrix = ToTransitionMatrix(rows);
  if (!matrix) return std::unexpected(matrix.error());
  const auto nodes = static_cast<std::size_t>(matrix->nodes);
  if (labels.size() != nodes && !labels.empty() && labels.size() != rows.size()) {
    return Wrong(fmt::format("{} names for {} nodes; give each node one", labels.size(), nodes));
  }
  // Names of the columns of a state-by-state matrix are states.
  if (labels.size() != nodes) {
    labels.clear();
    for (int node = 0; node < matrix->nodes; ++node) labels.push_back(UsualLabel(node));
  }
  return Network{std::move(*matrix), std::move(labels), std::nullopt};
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
    if (rows.empty() && labels.empty() && !ToNumber(words.front())) {
      labels.assign(words.begin(), words.end());
      continue;
    }
    rows.emplace_back();
    for (const std::string_view word : words) {
      const auto value = ToNumber(word);
      if (!value) {
        return Wrong(
            fmt::format("line {}: '{}' is no number; a row of the transition matrix is "
                        "made of probabilities",
                        number, word));
      }
      rows.back().push_back(*value);
    }
  }
  return NetworkFromRows(rows, std::move(labels));
}

Result<Network> NetworkFromJson(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return Wrong("this is no valid JSON");
  if (!document.is_object()) {
    const auto rows = RowsOf(document);
    if (!rows) return std::unexpected(rows.error());
    return NetworkFromRows(*rows, {});
  }
  if (!document.contains("tpm")) return Wrong("there is no \"tpm\", the transition matrix");
  const auto rows = RowsOf(document["tpm"]);
  if (!rows) return std::unexpected(rows.error());
  std::vector<std::string> labels;
  for (const char* key : {"labels", "node_labels", "nodes"}) {
    if (!document.contains(key) || !document[key].is_array() || !labels.empty()) continue;
    for (const json& label : document[key]) {
      if (label.is_string()) labels.push_back(label.get<std::string>());
    }
  }
  auto network = NetworkFromRows(*rows, std::move(labels));
  if (network && document.contains("state") && document["state"].is_array()) {
    const auto state = StateOf(document["state"], network->matrix.nodes);
    if (!state) return std::unexpected(state.error());
    network->state = *state;
  }
  return network;
}

Result<Network> ReadNetwork(const std::filesystem::path& path) {
  const auto text = FileBytes(path);
  if (!text) return std::unexpected(text.error());
  const std::size_t first = text->find_first_not_of(" \t\r\n");
  const bool is_json =
      first != std::string::npos && ((*text)[first] == '{' || (*text)[first] == '[');
  auto network = is_json ? NetworkFromJson(*text) : NetworkFromCsv(*text);
  if (!network) {
    return Fail(network.error().code,
                fmt::format("{}: {}", path.string(), network.error().message));
  }
  return network;
}

const std::vector<KnownNetwork>& KnownNetworks() {
  static const std::vector<KnownNetwork> kNetworks = {
      {"or-copy-xor", "A = B or C, B = C, C = A xor B; Phi 2.3125 in the state 1,0,0"},
      {"xor", "each of three nodes is the xor of the other two"},
      {"ring", "four nodes, each a copy of the one before it with probability 0.9"},
  };
  return kNetworks;
}

Result<Network> NetworkOf(std::string_view name) {
  if (name == "or-copy-xor") return MadeOf(3, OrCopyXor);
  if (name == "xor") {
    return MadeOf(3, [](Nodes state, int node) {
      return static_cast<double>(std::popcount(state & ~(Nodes{1} << node)) & 1);
    });
  }
  if (name == "ring") {
    return MadeOf(
        4, [](Nodes state, int node) { return (state >> ((node + 3) % 4) & 1) != 0 ? 0.9 : 0.1; });
  }
  std::vector<std::string_view> names;
  for (const KnownNetwork& known : KnownNetworks()) names.push_back(known.name);
  return Wrong(fmt::format("no network is called '{}'{}; there are {}", name,
                           DidYouMean(name, names), fmt::join(names, ", ")));
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
    return Wrong(
        fmt::format("'{}' is no state of {} nodes; write {} times 0 or 1 with commas, "
                    "the first node first",
                    text, nodes, nodes));
  }
  return state;
}

Result<Nodes> ParseNodes(std::string_view text, const std::vector<std::string>& labels) {
  Nodes nodes = 0;
  for (const std::string_view word : Words(text)) {
    auto found = std::ranges::find(labels, word);
    const auto number = ToNumber(word);
    if (found == labels.end() && number && *number >= 0 &&
        *number < static_cast<double>(labels.size()) && *number == std::floor(*number)) {
      found = labels.begin() + static_cast<std::ptrdiff_t>(*number);
    }
    if (found == labels.end()) {
      return Wrong(
          fmt::format("there is no node '{}'; there are {}", word, fmt::join(labels, ", ")));
    }
    nodes |= Nodes{1} << (found - labels.begin());
  }
  if (nodes == 0) return Wrong("no node is named; name some, such as A,B");
  return nodes;
}

std::string NodesText(Nodes nodes, const std::vector<std::string>& labels) {
  if (nodes == 0) return "-";
  std::string text;
  for (std::size_t node = 0; node < labels.size(); ++node) {
    if ((nodes >> node & 1) == 0) continue;
    if (!text.empty()) text += ',';
    text += labels[node];
  }
  return text;
}

}  // namespace reveza::phi
