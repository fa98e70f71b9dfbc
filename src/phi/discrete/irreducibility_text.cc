#include "phi/discrete/irreducibility_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace reveza::phi {
namespace {

using nlohmann::json;

// The labels of a system's own nodes.
std::vector<std::string> OwnLabels(Nodes members, const Network& network) {
  std::vector<std::string> labels;
  for (std::size_t node = 0; node < network.labels.size(); ++node) {
    if ((members >> node & 1) != 0) labels.push_back(network.labels[node]);
  }
  return labels;
}

std::string PartsText(Bipartition first, Nodes mechanism, Nodes purview,
                      const std::vector<std::string>& labels) {
  return fmt::format(
      "{}/{} x {}/{}", NodesText(first.mechanism, labels), NodesText(first.purview, labels),
      NodesText(mechanism & ~first.mechanism, labels), NodesText(purview & ~first.purview, labels));
}

json NodesJson(Nodes nodes, const std::vector<std::string>& labels) {
  json names = json::array();
  for (std::size_t node = 0; node < labels.size(); ++node) {
    if ((nodes >> node & 1) != 0) names.push_back(labels[node]);
  }
  return names;
}

json PartsJson(Bipartition first, Nodes mechanism, Nodes purview,
               const std::vector<std::string>& labels) {
  const auto part = [&](Nodes of_mechanism, Nodes of_purview) {
    return json{{"mechanism", NodesJson(of_mechanism, labels)},
                {"purview", NodesJson(of_purview, labels)}};
  };
  return json::array({part(first.mechanism, first.purview),
                      part(mechanism & ~first.mechanism, purview & ~first.purview)});
}

json ConceptJson(const Concept& found, const std::vector<std::string>& labels) {
  return {{"mechanism", NodesJson(found.mechanism, labels)},
          {"phi", found.phi},
          {"cause",
           {{"purview", NodesJson(found.cause.purview, labels)},
            {"phi", found.cause.phi},
            {"repertoire", found.cause_repertoire}}},
          {"effect",
           {{"purview", NodesJson(found.effect.purview, labels)},
            {"phi", found.effect.phi},
            {"probability_on", found.effect_on}}}};
}

}  // namespace

std::string TextOf(const SystemIrreducibility& result, const Network& network) {
  const auto labels = OwnLabels(result.members, network);
  std::string text = fmt::format("Phi = {}", result.phi);
  if (result.cut) {
    text += fmt::format(", cut from {} to {}: {} of {} concepts remain or change\n",
                        NodesText(result.cut->from, labels), NodesText(result.cut->to, labels),
                        result.cut_concepts.size(), result.concepts.size());
  } else {
    text += fmt::format(": {}\n", result.why_zero);
  }
  text += fmt::format("\n{:<10} {:>9}   {:<10} {:>9}   {:<10} {:>9}   {}\n", "mechanism", "phi",
                      "cause", "phi", "effect", "phi", "where its cause is cut");
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

std::string TextOf(const Complexes& complexes, const Network& network) {
  std::string text = fmt::format("{:<16} {:>10} {:>9}\n", "nodes", "Phi", "concepts");
  for (std::size_t i = 0; i < complexes.systems.size(); ++i) {
    const SystemIrreducibility& system = complexes.systems[i];
    text += fmt::format("{:<16} {:>10.6g} {:>9}{}\n", NodesText(system.members, network.labels),
                        system.phi, system.concepts.size(),
                        i == complexes.major ? "   the major complex" : "");
  }
  return text;
}

json JsonOf(const SystemIrreducibility& result, const Network& network) {
  const auto labels = OwnLabels(result.members, network);
  json document = {{"nodes", labels}, {"phi", result.phi}};
  if (result.cut) {
    document["cut"] = {{"from", NodesJson(result.cut->from, labels)},
                       {"to", NodesJson(result.cut->to, labels)}};
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

json JsonOf(const Complexes& complexes, const Network& network) {
  json document = {{"systems", json::array()}, {"major_complex", nullptr}};
  for (const SystemIrreducibility& system : complexes.systems) {
    document["systems"].push_back(JsonOf(system, network));
  }
  if (complexes.major) {
    document["major_complex"] =
        NodesJson(complexes.systems[*complexes.major].members, network.labels);
  }
  return document;
}

json ConventionsAsJson() {
  json conventions = json::object();
  for (const Convention& convention : Conventions()) {
    conventions[std::string(convention.name)] = convention.value;
  }
  return conventions;
}

}  // namespace reveza::phi
