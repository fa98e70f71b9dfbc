#include "phi/cli/iit4_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace reveza::phi {
namespace {

using nlohmann::json;
using Labels = std::vector<std::string>;

// Numbers of relations up to this are exact.
constexpr double kExact = 1e12;

json CountJson(double count) {
  return count <= kExact ? json(static_cast<std::int64_t>(count)) : json(count);
}

std::string CountText(double count) {
  return count <= 1e9 ? fmt::format("{:.0f}", count) : fmt::format("{:.4g}", count);
}

std::string BitsOf(Nodes nodes, Nodes state) {
  std::string bits;
  for (; nodes != 0; nodes &= nodes - 1) bits += (state & nodes & (~nodes + 1)) != 0 ? '1' : '0';
  return bits;
}

std::string_view NameOf(CutDirection cut) {
  if (cut == CutDirection::kInputs) return "inputs";
  return cut == CutDirection::kOutputs ? "outputs" : "both";
}

std::string PartitionText(const std::vector<DirectedPart>& partition, const Labels& labels) {
  std::string text;
  for (const DirectedPart& part : partition) {
    if (!text.empty()) text += "; ";
    const bool both = part.cut == CutDirection::kBoth;
    text += fmt::format("{} of {}", both ? "inputs and outputs" : NameOf(part.cut),
                        NodesText(part.nodes, labels));
  }
  return text;
}

std::string PurviewText(const Purview& purview, const Labels& labels) {
  return fmt::format("{} {}", NodesText(purview.nodes, labels),
                     BitsOf(purview.nodes, purview.state));
}

std::string JointText(const std::vector<JointPart>& partition, const Labels& labels) {
  std::string text;
  for (const JointPart& part : partition) {
    if (!text.empty()) text += " x ";
    text +=
        fmt::format("{}/{}", NodesText(part.mechanism, labels), NodesText(part.purview, labels));
  }
  return text;
}

std::string StateText(std::string_view name, const SystemState& state, Nodes all) {
  std::string text =
      fmt::format("{} state {}: {:.6g} bits, phi_{} {:.6g}", name, BitsOf(all, state.state),
                  state.information, name.front(), state.phi);
  if (state.tied > 1) text += fmt::format(" (of {} tied states)", state.tied);
  return text;
}

// Returns "3 alone, 12 of 2, 7 of 3", with the first orders.
std::string OrdersText(const Relations& relations) {
  constexpr std::size_t kMaxOrders = 6;
  std::string text;
  for (std::size_t i = 0; i < relations.by_order.size(); ++i) {
    if (!text.empty()) text += ", ";
    if (i == kMaxOrders) return text + fmt::format("... up to {}", relations.by_order.size());
    const std::string count = CountText(relations.by_order[i].count);
    text += i == 0 ? count + " alone" : fmt::format("{} of {}", count, i + 1);
  }
  return text;
}

std::string StructureText(const PhiStructure& structure, const Labels& labels) {
  const Relations& relations = structure.relations;
  std::string text =
      fmt::format("Phi = {:.6g}: {:.6g} of {} distinctions, {:.6g} of {} relations with {} faces\n",
                  structure.phi, structure.sum_phi_d, structure.distinctions.size(),
                  relations.sum_phi, CountText(relations.count), CountText(relations.faces));
  if (relations.count > 0) {
    text += fmt::format("relations of distinctions: {}\n", OrdersText(relations));
  }
  if (structure.incongruent > 0) {
    text += fmt::format("{} irreducible mechanisms disagree with the states of the system\n",
                        structure.incongruent);
  }
  if (!structure.all_ties_compared) {
    text += "too many combinations of tied purviews to compare all: Phi may be larger\n";
  }
  text += fmt::format("\n{:<16} {:>9}   {:<20} {:>9}   {:<20} {:>9}   {}\n", "mechanism", "phi_d",
                      "cause", "phi", "effect", "phi", "cause partition");
  for (const Distinction& found : structure.distinctions) {
    text +=
        fmt::format("{:<16} {:>9.6g}   {:<20} {:>9.6g}   {:<20} {:>9.6g}   {}\n",
                    NodesText(found.mechanism, labels), found.phi, PurviewText(found.cause, labels),
                    found.cause_phi, PurviewText(found.effect, labels), found.effect_phi,
                    JointText(found.cause.partition, labels));
  }
  return text;
}

json StateJson(const SystemState& state, Nodes all) {
  return {{"state", BitsOf(all, state.state)},
          {"intrinsic_information", state.information},
          {"tied_states", state.tied},
          {"phi", state.phi}};
}

json PurviewJson(const Purview& purview, double phi, const Labels& labels) {
  json parts = json::array();
  for (const JointPart& part : purview.partition) {
    parts.push_back({{"mechanism", LabelsOf(part.mechanism, labels)},
                     {"purview", LabelsOf(part.purview, labels)}});
  }
  return {{"purview", LabelsOf(purview.nodes, labels)},
          {"state", BitsOf(purview.nodes, purview.state)},
          {"phi", phi},
          {"selectivity", purview.selectivity},
          {"partition", std::move(parts)}};
}

json StructureJson(const PhiStructure& structure, const Labels& labels) {
  json distinctions = json::array();
  for (const Distinction& found : structure.distinctions) {
    distinctions.push_back({{"mechanism", LabelsOf(found.mechanism, labels)},
                            {"phi", found.phi},
                            {"cause", PurviewJson(found.cause, found.cause_phi, labels)},
                            {"effect", PurviewJson(found.effect, found.effect_phi, labels)}});
  }
  const Relations& relations = structure.relations;
  json by_order = json::array();
  for (std::size_t i = 0; i < relations.by_order.size(); ++i) {
    by_order.push_back({{"distinctions", i + 1},
                        {"count", CountJson(relations.by_order[i].count)},
                        {"sum_phi", relations.by_order[i].sum_phi}});
  }
  json faces = json::array();
  for (std::size_t i = 0; i < relations.faces_by_order.size(); ++i) {
    faces.push_back(
        {{"causes_and_effects", i + 2}, {"count", CountJson(relations.faces_by_order[i])}});
  }
  return {{"big_phi", structure.phi},
          {"sum_phi_d", structure.sum_phi_d},
          {"sum_phi_r", relations.sum_phi},
          {"distinctions", std::move(distinctions)},
          {"incongruent_mechanisms", structure.incongruent},
          {"all_ties_compared", structure.all_ties_compared},
          {"relations",
           {{"count", CountJson(relations.count)},
            {"faces", CountJson(relations.faces)},
            {"by_order", std::move(by_order)},
            {"faces_by_order", std::move(faces)}}}};
}

}  // namespace

std::string ToText(const Iit4System& system, const Network& network) {
  const Labels labels = LabelsOf(system.members, network.labels);
  const Nodes all = AllNodes(static_cast<int>(labels.size()));
  std::string text = fmt::format("phi_s = {:.6g}", system.phi);
  text += system.why_zero.empty()
              ? fmt::format(", cut {}\n", PartitionText(system.partition, labels))
              : fmt::format(": {}\n", system.why_zero);
  if (system.cause) text += StateText("cause", *system.cause, all) + "\n";
  if (system.effect) text += StateText("effect", *system.effect, all) + "\n";
  if (system.structure) text += StructureText(*system.structure, labels);
  return text;
}

json ToJson(const Iit4System& system, const Network& network) {
  const Labels labels = LabelsOf(system.members, network.labels);
  const Nodes all = AllNodes(static_cast<int>(labels.size()));
  json document = {{"nodes", labels},
                   {"phi_s", system.phi},
                   {"partition", nullptr},
                   {"cause", nullptr},
                   {"effect", nullptr}};
  if (system.why_zero.empty()) {
    document["partition"] = json::array();
    for (const DirectedPart& part : system.partition) {
      document["partition"].push_back(
          {{"nodes", LabelsOf(part.nodes, labels)}, {"cut", NameOf(part.cut)}});
    }
  } else {
    document["why_zero"] = system.why_zero;
  }
  if (system.cause) document["cause"] = StateJson(*system.cause, all);
  if (system.effect) document["effect"] = StateJson(*system.effect, all);
  if (system.structure) document["structure"] = StructureJson(*system.structure, labels);
  return document;
}

std::string ToText(const Iit4Complexes& complexes, const Network& network) {
  std::string text = fmt::format("{:<16} {:>10} {:>12}\n", "nodes", "phi_s", "Phi");
  for (std::size_t i = 0; i < complexes.systems.size(); ++i) {
    const Iit4System& system = complexes.systems[i];
    const auto place = std::ranges::find(complexes.complexes, i);
    const bool is_complex = place != complexes.complexes.end();
    text += fmt::format("{:<16} {:>10.6g} {:>12}{}\n", NodesText(system.members, network.labels),
                        system.phi, is_complex ? fmt::format("{:.6g}", system.structure->phi) : "",
                        !is_complex                            ? ""
                        : place == complexes.complexes.begin() ? "   the main complex"
                                                               : "   a complex");
  }
  return text;
}

json ToJson(const Iit4Complexes& complexes, const Network& network) {
  json document = {{"systems", json::array()}, {"complexes", json::array()}};
  for (const Iit4System& system : complexes.systems) {
    document["systems"].push_back(ToJson(system, network));
  }
  for (const std::size_t i : complexes.complexes) {
    document["complexes"].push_back(LabelsOf(complexes.systems[i].members, network.labels));
  }
  return document;
}

}  // namespace reveza::phi
