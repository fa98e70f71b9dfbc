#include "iit_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "exit_status.h"
#include "phi/discrete/irreducibility_text.h"
#include "phi/discrete/network_file.h"
#include "phi/discrete/system_irreducibility.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

struct Typed {
  std::string file, network, state, subsystem;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool complexes = false, json = false, single_nodes = false;
};

// A matrix of NumPy's, state by node or state by state.
Result<Network> FromNumpy(const std::string& path) {
  const auto table = ReadSeries(path, {});
  if (!table) return std::unexpected(table.error());
  std::vector<std::vector<double>> rows;
  const auto width = static_cast<std::ptrdiff_t>(table->names.size());
  for (auto at = table->values.begin(); at != table->values.end(); at += width) {
    rows.emplace_back(at, at + width);
  }
  auto network = NetworkFromRows(rows, {});
  if (!network) {
    return Fail(network.error().code, fmt::format("{}: {}", path, network.error().message));
  }
  return network;
}

Result<Network> NetworkAsked(const Typed& typed) {
  if (typed.file.empty() == typed.network.empty()) {
    return Fail(Error::Code::kInvalidArgument,
                "name a FILE with a transition matrix, or a network with --network");
  }
  if (typed.file.ends_with(".npy")) return FromNumpy(typed.file);
  return typed.file.empty() ? NetworkOf(typed.network) : ReadNetwork(typed.file);
}

Result<Nodes> StateAsked(const Typed& typed, const Network& network) {
  if (!typed.state.empty()) return ParseState(typed.state, network.matrix.nodes);
  if (network.state) return *network.state;
  return Fail(Error::Code::kInvalidArgument,
              "Phi is that of a state: give one with --state, such as 1,0,0");
}

void Print(const Typed& typed, const Network& network, Nodes state, nlohmann::json document,
           const std::string& text) {
  std::string bits;
  for (int node = 0; node < network.matrix.nodes; ++node) {
    bits += (state >> node & 1) != 0 ? '1' : '0';
  }
  if (typed.json) {
    document["state"] = bits;
    document["conventions"] = ConventionsAsJson();
    fmt::print("{}\n", document.dump(2));
    return;
  }
  fmt::print("{}", text);
  std::string conventions;
  for (const Convention& convention : Conventions()) {
    if (!conventions.empty()) conventions += "; ";
    conventions += fmt::format("{}: {}", convention.name, convention.value);
  }
  fmt::print("\nstate {} of {}. {}\n", bits, fmt::join(network.labels, ","), conventions);
}

int RunIit(const Typed& typed) {
  const auto network = NetworkAsked(typed);
  if (!network) return Say(network.error());
  const auto state = StateAsked(typed, *network);
  if (!state) return Say(state.error());
  const IrreducibilityOptions options = {.threads = typed.threads,
                                         .single_nodes_have_phi = typed.single_nodes};
  if (typed.complexes) {
    const auto complexes = FindComplexes(network->matrix, *state, options);
    if (!complexes) return Say(complexes.error());
    Print(typed, *network, *state, JsonOf(*complexes, *network), TextOf(*complexes, *network));
    return kDone;
  }
  Nodes members = AllNodes(network->matrix.nodes);
  if (!typed.subsystem.empty()) {
    const auto named = ParseNodes(typed.subsystem, network->labels);
    if (!named) return Say(named.error());
    members = *named;
  }
  const auto system = DiscreteSystem::Create(network->matrix, *state, members);
  if (!system) return Say(system.error());
  const auto result = Analyse(*system, options);
  if (!result) return Say(result.error());
  Print(typed, *network, *state, JsonOf(*result, *network), TextOf(*result, *network));
  return kDone;
}

}  // namespace

std::function<int()> AddIitCommand(CLI::App& options) {
  const auto typed = std::make_shared<Typed>();
  std::string names;
  for (const KnownNetwork& known : KnownNetworks()) {
    names += fmt::format("\n  {:<12} {}", known.name, known.meaning);
  }
  options.add_option(
      "FILE", typed->file,
      "a transition matrix as CSV, JSON or NumPy: a row for each state (the first node "
      "varies fastest), with the probability that each node is on next, or that of "
      "each next state");
  options.add_option("--network", typed->network, "a network that needs no file")
      ->type_name("NAME");
  options.add_option("--state", typed->state, "0 or 1 for each node, such as 1,0,0")
      ->type_name("BITS");
  options
      .add_option("--subsystem", typed->subsystem,
                  "only these nodes, such as A,C; the others stay as they are")
      ->type_name("NODES");
  options.add_flag("--complexes", typed->complexes,
                   "all subsystems, and which has the largest Phi");
  options.add_flag("--single-nodes", typed->single_nodes,
                   "a single node with a self-loop may have Phi (PyPhi's "
                   "SINGLE_MICRO_NODES_WITH_SELFLOOPS_HAVE_PHI)");
  options.add_option("--threads", typed->threads, "which changes no number")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  options.add_flag("--json", typed->json,
                   "all of it as JSON: repertoires, partitions, conventions");
  options.footer("Networks:" + names);
  return [typed] { return RunIit(*typed); };
}

}  // namespace reveza::phi
