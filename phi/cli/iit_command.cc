#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/json_text.h"
#include "common/version/version.h"
#include "phi/cli/answer_cache.h"
#include "phi/cli/commands.h"
#include "phi/cli/iit4_output.h"
#include "phi/cli/progress_line.h"
#include "phi/discrete/iit4.h"
#include "phi/discrete/network_file.h"
#include "phi/discrete/system_irreducibility.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

struct IitArguments {
  std::string file, network, state, subsystem, cache, theory = "3.0";
  int threads = 1;
  bool complexes = false, json = false, single_nodes = false;
};

using nlohmann::json;

std::string PartsText(Bipartition first, Nodes mechanism, Nodes purview,
                      const std::vector<std::string>& labels) {
  return fmt::format(
      "{}/{} x {}/{}", NodesText(first.mechanism, labels), NodesText(first.purview, labels),
      NodesText(mechanism & ~first.mechanism, labels), NodesText(purview & ~first.purview, labels));
}

json PartsJson(Bipartition first, Nodes mechanism, Nodes purview,
               const std::vector<std::string>& labels) {
  const auto part = [&](Nodes of_mechanism, Nodes of_purview) {
    return json{{"mechanism", LabelsOf(of_mechanism, labels)},
                {"purview", LabelsOf(of_purview, labels)}};
  };
  return json::array({part(first.mechanism, first.purview),
                      part(mechanism & ~first.mechanism, purview & ~first.purview)});
}

json ConceptJson(const Concept& found, const std::vector<std::string>& labels) {
  return {{"mechanism", LabelsOf(found.mechanism, labels)},
          {"phi", found.phi},
          {"cause",
           {{"purview", LabelsOf(found.cause.purview, labels)},
            {"phi", found.cause.phi},
            {"repertoire", found.cause_repertoire}}},
          {"effect",
           {{"purview", LabelsOf(found.effect.purview, labels)},
            {"phi", found.effect.phi},
            {"probability_on", found.effect_on}}}};
}

// Returns Phi, the cut and a table of the concepts.
std::string ToText(const SystemIrreducibility& result, const Network& network) {
  const auto labels = LabelsOf(result.members, network.labels);
  std::string text = fmt::format("Phi = {}", result.phi);
  if (result.cut) {
    text += fmt::format(", cut from {} to {}: {} of {} concepts remain or change\n",
                        NodesText(result.cut->from, labels), NodesText(result.cut->to, labels),
                        result.cut_concepts.size(), result.concepts.size());
  } else {
    text += fmt::format(": {}\n", result.why_zero);
  }
  text += fmt::format("\n{:<10} {:>9}   {:<10} {:>9}   {:<10} {:>9}   {}\n", "mechanism", "phi",
                      "cause", "phi", "effect", "phi", "cause partition");
  for (std::size_t i = 0; i < result.concepts.size(); ++i) {
    const Concept& found = result.concepts[i];
    text += fmt::format(
        "{:<10} {:>9.6g}   {:<10} {:>9.6g}   {:<10} {:>9.6g}   {}\n",
        NodesText(found.mechanism, labels), found.phi, NodesText(found.cause.purview, labels),
        found.cause.phi, NodesText(found.effect.purview, labels), found.effect.phi,
        PartsText(result.cause_partitions[i], found.mechanism, found.cause.purview, labels));
  }
  return text;
}

// Returns one line per system and the major complex.
std::string ToText(const Complexes& complexes, const Network& network) {
  std::string text = fmt::format("{:<16} {:>10} {:>9}\n", "nodes", "Phi", "concepts");
  for (std::size_t i = 0; i < complexes.systems.size(); ++i) {
    const SystemIrreducibility& system = complexes.systems[i];
    text += fmt::format("{:<16} {:>10.6g} {:>9}{}\n", NodesText(system.members, network.labels),
                        system.phi, system.concepts.size(),
                        i == complexes.major ? "   the major complex" : "");
  }
  return text;
}

json ToJson(const SystemIrreducibility& result, const Network& network) {
  const auto labels = LabelsOf(result.members, network.labels);
  json document = {{"nodes", labels}, {"phi", result.phi}};
  if (result.cut) {
    document["cut"] = {{"from", LabelsOf(result.cut->from, labels)},
                       {"to", LabelsOf(result.cut->to, labels)}};
  } else {
    document["cut"] = nullptr;
    document["why_zero"] = result.why_zero;
  }
  document["concepts"] = json::array();
  for (std::size_t i = 0; i < result.concepts.size(); ++i) {
    const Concept& found = result.concepts[i];
    json described = ConceptJson(found, labels);
    described["cause"]["partition"] =
        PartsJson(result.cause_partitions[i], found.mechanism, found.cause.purview, labels);
    described["effect"]["partition"] =
        PartsJson(result.effect_partitions[i], found.mechanism, found.effect.purview, labels);
    document["concepts"].push_back(std::move(described));
  }
  document["concepts_after_cut"] = json::array();
  for (const Concept& found : result.cut_concepts) {
    document["concepts_after_cut"].push_back(ConceptJson(found, labels));
  }
  return document;
}

json ToJson(const Complexes& complexes, const Network& network) {
  json document = {{"systems", json::array()}, {"major_complex", nullptr}};
  for (const SystemIrreducibility& system : complexes.systems) {
    document["systems"].push_back(ToJson(system, network));
  }
  if (complexes.major) {
    document["major_complex"] =
        LabelsOf(complexes.systems[*complexes.major].members, network.labels);
  }
  return document;
}

// Reads a NumPy transition matrix, state by node or state by state.
Result<Network> FromNumpy(const std::string& path) {
  ASSIGN_OR_RETURN(const auto table, ReadSeries(path, {}));
  std::vector<std::vector<double>> rows;
  const auto width = static_cast<std::ptrdiff_t>(table.names.size());
  for (auto at = table.values.begin(); at != table.values.end(); at += width) {
    rows.emplace_back(at, at + width);
  }
  auto network = NetworkFromRows(rows, {});
  if (!network) {
    return Fail(network.error().code, "{}: {}", path, network.error().message);
  }
  return network;
}

Result<Network> LoadNetwork(const IitArguments& arguments) {
  if (arguments.file.empty() == arguments.network.empty()) {
    return InvalidArgument("give either a FILE with a transition matrix or --network");
  }
  if (arguments.file.ends_with(".npy")) return FromNumpy(arguments.file);
  return arguments.file.empty() ? BuiltInNetwork(arguments.network) : ReadNetwork(arguments.file);
}

Result<Nodes> ResolveState(const IitArguments& arguments, const Network& network) {
  if (!arguments.state.empty()) return ParseState(arguments.state, network.matrix.nodes);
  if (network.state) return *network.state;
  return InvalidArgument("the network has no state; give --state, such as 1,0,0");
}

std::string OutputOf(const IitArguments& arguments, const Network& network, Nodes state,
                     const std::vector<Convention>& known, json document, const std::string& text) {
  std::string bits;
  for (int node = 0; node < network.matrix.nodes; ++node) {
    bits += (state >> node & 1) != 0 ? '1' : '0';
  }
  if (arguments.json) {
    document["state"] = bits;
    for (const Convention& convention : known) {
      document["conventions"][std::string(convention.name)] = convention.value;
    }
    return JsonText(document, 2) + '\n';
  }
  std::string conventions;
  for (const Convention& convention : known) {
    if (!conventions.empty()) conventions += "; ";
    conventions += fmt::format("{}: {}", convention.name, convention.value);
  }
  return fmt::format("{}\nstate {} of {}. {}\n", text, bits, fmt::join(network.labels, ","),
                     conventions);
}

Result<Nodes> ResolveMembers(const IitArguments& arguments, const Network& network) {
  if (arguments.subsystem.empty()) return AllNodes(network.matrix.nodes);
  return ParseNodes(arguments.subsystem, network.labels);
}

// An analysis that is to be made: of a network in a state.
struct IitQuestion {
  const IitArguments& arguments;
  const Network& network;
  Nodes state;
  Nodes members;
};

// Returns all that the output depends on, this program's version included.
std::string TextOf(const IitQuestion& question) {
  const IitArguments& arguments = question.arguments;
  std::string text = version::Text("phi iit");
  text += json{{"theory", arguments.theory},
               {"complexes", arguments.complexes},
               {"single_nodes", arguments.single_nodes},
               {"json", arguments.json},
               {"state", question.state},
               {"members", question.members}}
              .dump();
  for (const std::string& label : question.network.labels) {
    text += fmt::format(" {}:{}", label.size(), label);
  }
  for (const double on : question.network.matrix.on) {
    text += fmt::format(" {:016x}", std::bit_cast<std::uint64_t>(on));
  }
  return text + '\n';
}

AnalysisProgress ShownBy(ProgressLine& line) {
  return [&line](std::string_view items, std::size_t done, std::size_t all) {
    line.Show(items, done, all);
  };
}

// Names the file in an error about its network.
template <typename T>
Result<T> OfFile(Result<T> result, const IitArguments& arguments) {
  if (result || arguments.file.empty()) return result;
  return Fail(result.error().code, "{}: {}", arguments.file, result.error().message);
}

Result<std::string> AnswerIit3(const IitQuestion& question) {
  const auto& [arguments, network, state, members] = question;
  ProgressLine line;
  const IrreducibilityOptions options = {.threads = arguments.threads,
                                         .single_nodes_have_phi = arguments.single_nodes,
                                         .progress = ShownBy(line)};
  if (arguments.complexes) {
    ASSIGN_OR_RETURN(const auto complexes, FindComplexes(network.matrix, state, options));
    return OutputOf(arguments, network, state, Conventions(), ToJson(complexes, network),
                    ToText(complexes, network));
  }
  ASSIGN_OR_RETURN(const auto system,
                   OfFile(DiscreteSystem::Create(network.matrix, state, members), arguments));
  ASSIGN_OR_RETURN(const auto result, Analyse(system, options));
  return OutputOf(arguments, network, state, Conventions(), ToJson(result, network),
                  ToText(result, network));
}

Result<std::string> AnswerIit4(const IitQuestion& question) {
  const auto& [arguments, network, state, members] = question;
  if (arguments.single_nodes) {
    return InvalidArgument(
        "--single-nodes is of --theory 3.0; under 4.0 a node that influences itself has phi_s");
  }
  ProgressLine line;
  if (arguments.complexes) {
    ASSIGN_OR_RETURN(const auto complexes,
                     FindIit4Complexes(network.matrix, state, arguments.threads, ShownBy(line)));
    return OutputOf(arguments, network, state, Iit4Conventions(), ToJson(complexes, network),
                    ToText(complexes, network));
  }
  ASSIGN_OR_RETURN(const auto system,
                   OfFile(CandidateSystem::Create(network.matrix, state, members), arguments));
  const Iit4System result = AnalyseIit4(system, arguments.threads, true);
  return OutputOf(arguments, network, state, Iit4Conventions(), ToJson(result, network),
                  ToText(result, network));
}

Result<std::string> AnswerTo(const IitQuestion& question) {
  return question.arguments.theory == "4.0" ? AnswerIit4(question) : AnswerIit3(question);
}

// Answers from the cache, or to it. What is wrong with the cache is said, but does not matter.
Result<std::string> AnswerByCache(const IitQuestion& question) {
  ASSIGN_OR_RETURN(const auto cache, AnswerCache::Open(question.arguments.cache));
  const std::string text = TextOf(question);
  const auto found = cache.Find(text);
  if (found && *found) return **found;
  if (!found) fmt::print(stderr, "phi: {}: computed again\n", found.error().message);
  ASSIGN_OR_RETURN(auto answer, AnswerTo(question));
  if (const Status stored = cache.Store(text, answer); !stored) {
    fmt::print(stderr, "phi: not cached: {}\n", stored.error().message);
  }
  return answer;
}

Result<int> RunIit(const IitArguments& arguments) {
  ASSIGN_OR_RETURN(const auto network, LoadNetwork(arguments));
  ASSIGN_OR_RETURN(const auto state, OfFile(ResolveState(arguments, network), arguments));
  ASSIGN_OR_RETURN(const auto members, OfFile(ResolveMembers(arguments, network), arguments));
  const IitQuestion question = {arguments, network, state, members};
  ASSIGN_OR_RETURN(const auto answer,
                   arguments.cache.empty() ? AnswerTo(question) : AnswerByCache(question));
  fmt::print("{}", answer);
  return kDone;
}

}  // namespace

Action AddIitCommand(CLI::App& options) {
  const auto arguments = std::make_shared<IitArguments>();
  std::string names;
  for (const BuiltInNetworkInfo& known : BuiltInNetworks()) {
    names += fmt::format("\n  {:<12} {}", known.name, known.meaning);
  }
  options.add_option(
      "FILE", arguments->file,
      "transition matrix (CSV, JSON or NumPy), one row per present state (first node varies "
      "fastest): the probability that each node is on next, or of each next state");
  AddOption(options, "--network", arguments->network, "NETWORK",
            "built-in network instead of FILE");
  AddOption(options, "--state", arguments->state, "BITS",
            "present state, one bit per node, such as 1,0,0; default: the file's");
  AddDefaulted(options, "--theory", arguments->theory,
               "integrated information theory: 3.0 (cause-effect structures compared by the earth "
               "mover's distance) or 4.0 (phi_s, distinctions and relations)",
               "VERSION")
      ->check(CLI::IsMember({"3.0", "4.0"}));
  AddOption(options, "--subsystem", arguments->subsystem, "NODE,...",
            "analyse only these nodes, such as A,C, with the others fixed; default: all");
  options.add_flag("--complexes", arguments->complexes,
                   "analyse every subsystem and report the major complex, or with --theory 4.0 "
                   "all complexes");
  options.add_flag("--single-nodes", arguments->single_nodes,
                   "allow a single node with a self-loop to have Phi (PyPhi's "
                   "SINGLE_MICRO_NODES_WITH_SELFLOOPS_HAVE_PHI)");
  AddThreads(options, arguments->threads);
  AddOption(options, "--cache", arguments->cache, "FOLDER",
            "keep the output in this folder, and take it from there if the same network, state and "
            "options were analysed before by the same version");
  options.add_flag("--json", arguments->json,
                   "print JSON with repertoires, partitions and conventions");
  options.footer(
      "Examples:\n  phi iit --network or-copy-xor --state 1,0,0\n"
      "  phi iit --network or-copy-xor --state 1,0,0 --theory 4.0 --complexes\n"
      "Built-in networks:" +
      names);
  return [arguments] { return RunIit(*arguments); };
}

}  // namespace reveza::phi
