// Networks of binary nodes under IIT 4.0: `iit4`, `complexes4`.
#include "phi/discrete/iit4.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/python/native.h"
#include "phi/python/networks.h"

namespace reveza::phi {
namespace {

namespace nb = nanobind;
using python::Arguments;
using python::ValueOf;
using python::WithoutLock;

// Returns 0 or 1 for each of the nodes.
nb::tuple StatesOf(Nodes nodes, Nodes state) {
  nb::list bits;
  for (; nodes != 0; nodes &= nodes - 1) bits.append((state & nodes & (~nodes + 1)) != 0 ? 1 : 0);
  return nb::tuple(bits);
}

nb::object DictOf(const std::optional<SystemState>& found, Nodes all) {
  if (!found) return nb::none();
  nb::dict row;
  row["state"] = StatesOf(all, found->state);
  row["information"] = found->information;
  row["tied"] = found->tied;
  row["phi"] = found->phi;
  return row;
}

std::string_view NameOf(CutDirection cut) {
  if (cut == CutDirection::kInputs) return "inputs";
  return cut == CutDirection::kOutputs ? "outputs" : "both";
}

nb::dict DictOf(const Purview& purview, double phi, Nodes members) {
  nb::list parts;
  for (const JointPart& part : purview.partition) {
    nb::dict row;
    row["mechanism"] = NodesOf(part.mechanism, members);
    row["purview"] = NodesOf(part.purview, members);
    parts.append(row);
  }
  nb::dict row;
  row["purview"] = NodesOf(purview.nodes, members);
  row["state"] = StatesOf(purview.nodes, purview.state);
  row["phi"] = phi;
  row["selectivity"] = purview.selectivity;
  row["partition"] = parts;
  return row;
}

nb::dict DictOf(const Relations& relations) {
  nb::list orders;
  for (const RelationsOfOrder& order : relations.by_order) {
    orders.append(nb::make_tuple(orders.size() + 1, order.count, order.sum_phi));
  }
  nb::dict row;
  row["count"] = relations.count;
  row["faces"] = relations.faces;
  row["sum_phi"] = relations.sum_phi;
  row["by_order"] = orders;
  row["faces_by_order"] = nb::tuple(nb::cast(relations.faces_by_order));
  return row;
}

nb::object DictOf(const std::optional<PhiStructure>& structure, Nodes members) {
  if (!structure) return nb::none();
  nb::list distinctions;
  for (const Distinction& found : structure->distinctions) {
    nb::dict row;
    row["mechanism"] = NodesOf(found.mechanism, members);
    row["phi"] = found.phi;
    row["cause"] = DictOf(found.cause, found.cause_phi, members);
    row["effect"] = DictOf(found.effect, found.effect_phi, members);
    distinctions.append(row);
  }
  nb::dict row;
  row["phi"] = structure->phi;
  row["sum_phi_d"] = structure->sum_phi_d;
  row["distinctions"] = distinctions;
  row["relations"] = DictOf(structure->relations);
  row["incongruent"] = structure->incongruent;
  row["all_ties_compared"] = structure->all_ties_compared;
  return row;
}

nb::dict DictOf(const Iit4System& system) {
  const Nodes members = system.members;
  const Nodes all = AllNodes(CountOf(members));
  nb::list partition;
  for (const DirectedPart& part : system.partition) {
    partition.append(nb::make_tuple(NodesOf(part.nodes, members), std::string(NameOf(part.cut))));
  }
  nb::dict row;
  row["nodes"] = NodesOf(all, members);
  row["phi"] = system.phi;
  row["partition"] = partition;
  row["why_zero"] = std::string(system.why_zero);
  row["cause"] = DictOf(system.cause, all);
  row["effect"] = DictOf(system.effect, all);
  row["structure"] = DictOf(system.structure, members);
  return row;
}

nb::dict AnalyseIit4Array(const Array& tpm, const std::vector<int>& state, nb::dict arguments) {
  const Arguments given(std::move(arguments));
  const Situation found = SituationOf(tpm, state);
  const Nodes members = MembersOf(given, found);
  const int threads = given.Whole<int>("threads", 1, kMaxThreads);
  return DictOf(ValueOf(WithoutLock([&]() -> Result<Iit4System> {
    ASSIGN_OR_RETURN(const auto system,
                     CandidateSystem::Create(found.matrix, found.state, members));
    return AnalyseIit4(system, threads, true);
  })));
}

nb::tuple FindIit4ComplexesOfArray(const Array& tpm, const std::vector<int>& state,
                                   nb::dict arguments) {
  const Arguments given(std::move(arguments));
  const Situation found = SituationOf(tpm, state);
  const int threads = given.Whole<int>("threads", 1, kMaxThreads);
  const auto complexes =
      ValueOf(WithoutLock([&] { return FindIit4Complexes(found.matrix, found.state, threads); }));
  nb::list systems;
  for (const Iit4System& system : complexes.systems) systems.append(DictOf(system));
  return nb::make_tuple(systems, nb::cast(complexes.complexes));
}

}  // namespace

void AddIit4(nb::module_& module) {
  const auto tpm = nb::arg("tpm").noconvert();
  module.def("iit4", &AnalyseIit4Array, tpm, nb::arg("state"), nb::arg("arguments"));
  module.def("complexes4", &FindIit4ComplexesOfArray, tpm, nb::arg("state"), nb::arg("arguments"));
}

}  // namespace reveza::phi
