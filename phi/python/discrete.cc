// Networks of binary nodes under IIT 3.0: `iit`, `complexes`.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/python/native.h"
#include "phi/discrete/network_file.h"
#include "phi/discrete/system_irreducibility.h"
#include "phi/python/arrays.h"
#include "phi/python/networks.h"

namespace reveza::phi {

namespace nb = nanobind;
using python::Arguments;
using python::ValueOf;
using python::WithoutLock;

nb::tuple NodesOf(Nodes nodes, Nodes of) {
  nb::list found;
  for (int node = 0, place = 0; of >> node != 0; ++node) {
    if ((of >> node & 1) == 0) continue;
    if ((nodes >> place++ & 1) != 0) found.append(node);
  }
  return nb::tuple(found);
}

namespace {

nb::list PartsOf(Bipartition first, Nodes mechanism, Nodes purview, Nodes members) {
  const auto part = [&](Nodes of_mechanism, Nodes of_purview) {
    nb::dict row;
    row["mechanism"] = NodesOf(of_mechanism, members);
    row["purview"] = NodesOf(of_purview, members);
    return row;
  };
  nb::list parts;
  parts.append(part(first.mechanism, first.purview));
  parts.append(part(mechanism & ~first.mechanism, purview & ~first.purview));
  return parts;
}

nb::dict ConceptOf(const Concept& found, Nodes members) {
  nb::dict cause;
  cause["purview"] = NodesOf(found.cause.purview, members);
  cause["phi"] = found.cause.phi;
  cause["repertoire"] = nb::tuple(nb::cast(found.cause_repertoire));
  cause["partition"] = nb::none();
  nb::dict effect;
  effect["purview"] = NodesOf(found.effect.purview, members);
  effect["phi"] = found.effect.phi;
  effect["probability_on"] = nb::tuple(nb::cast(found.effect_on));
  effect["partition"] = nb::none();
  nb::dict row;
  row["mechanism"] = NodesOf(found.mechanism, members);
  row["phi"] = found.phi;
  row["cause"] = cause;
  row["effect"] = effect;
  return row;
}

nb::dict DictOf(const SystemIrreducibility& result) {
  const Nodes members = result.members;
  nb::list concepts;
  for (std::size_t i = 0; i < result.concepts.size(); ++i) {
    const Concept& found = result.concepts[i];
    nb::dict row = ConceptOf(found, members);
    row["cause"]["partition"] =
        PartsOf(result.cause_partitions[i], found.mechanism, found.cause.purview, members);
    row["effect"]["partition"] =
        PartsOf(result.effect_partitions[i], found.mechanism, found.effect.purview, members);
    concepts.append(row);
  }
  nb::list after;
  for (const Concept& found : result.cut_concepts) after.append(ConceptOf(found, members));
  nb::dict row;
  row["nodes"] = NodesOf(AllNodes(CountOf(members)), members);
  row["phi"] = result.phi;
  row["cut"] = result.cut ? nb::object(nb::make_tuple(NodesOf(result.cut->from, members),
                                                      NodesOf(result.cut->to, members)))
                          : nb::none();
  row["why_zero"] = std::string(result.why_zero);
  row["concepts"] = concepts;
  row["concepts_after_cut"] = after;
  return row;
}

Result<TransitionMatrix> MatrixOf(const Array& tpm) {
  std::vector<std::vector<double>> rows;
  for (std::size_t row = 0; row < tpm.shape(0); ++row) {
    const double* const begin = tpm.data() + row * tpm.shape(1);
    rows.emplace_back(begin, begin + tpm.shape(1));
  }
  return ToTransitionMatrix(rows);
}

IrreducibilityOptions OptionsOf(const Arguments& given) {
  return {.threads = given.Whole<int>("threads", 1, kMaxThreads),
          .single_nodes_have_phi = given.Get<bool>("single_nodes")};
}

nb::dict AnalyseArray(const Array& tpm, const std::vector<int>& state, nb::dict arguments) {
  const Arguments given(std::move(arguments));
  const Situation found = SituationOf(tpm, state);
  const Nodes members = MembersOf(given, found);
  const IrreducibilityOptions options = OptionsOf(given);
  return DictOf(ValueOf(WithoutLock([&]() -> Result<SystemIrreducibility> {
    ASSIGN_OR_RETURN(const auto system, DiscreteSystem::Create(found.matrix, found.state, members));
    return Analyse(system, options);
  })));
}

nb::tuple FindComplexesOfArray(const Array& tpm, const std::vector<int>& state,
                               nb::dict arguments) {
  const Situation found = SituationOf(tpm, state);
  const IrreducibilityOptions options = OptionsOf(Arguments(std::move(arguments)));
  const auto complexes =
      ValueOf(WithoutLock([&] { return FindComplexes(found.matrix, found.state, options); }));
  nb::list systems;
  for (const SystemIrreducibility& system : complexes.systems) systems.append(DictOf(system));
  return nb::make_tuple(systems, complexes.major ? nb::cast(*complexes.major) : nb::none());
}

}  // namespace

Situation SituationOf(const Array& tpm, const std::vector<int>& state) {
  Situation found{.matrix = ValueOf(MatrixOf(tpm))};
  std::string bits;
  for (const int node : state) bits += node == 0 ? '0' : node == 1 ? '1' : '?';
  found.state = ValueOf(ParseState(bits, found.matrix.nodes));
  return found;
}

Nodes MembersOf(const Arguments& given, const Situation& of) {
  const auto nodes = given.Get<std::vector<int>>("nodes");
  const int count = of.matrix.nodes;
  if (nodes.empty()) return AllNodes(count);
  Nodes members = 0;
  for (const int node : nodes) {
    if (node < 0 || node >= count) {
      python::Raise(PyExc_ValueError,
                    fmt::format("nodes: there is no node {}; use 0 to {}", node, count - 1));
    }
    members |= Nodes{1} << node;
  }
  return members;
}

void AddDiscrete(nb::module_& module) {
  const auto tpm = nb::arg("tpm").noconvert();
  module.def("iit", &AnalyseArray, tpm, nb::arg("state"), nb::arg("arguments"));
  module.def("complexes", &FindComplexesOfArray, tpm, nb::arg("state"), nb::arg("arguments"));
}

}  // namespace reveza::phi
