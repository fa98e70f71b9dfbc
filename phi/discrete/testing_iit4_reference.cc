#include "phi/discrete/testing_iit4_reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace reveza::phi {
namespace {

constexpr double kEqual = 1e-11;

// Returns all ways to divide `count` elements into parts, as the part of each element.
std::vector<std::vector<int>> Divisions(int count) {
  std::vector<std::vector<int>> divisions = {{}};
  for (int element = 0; element < count; ++element) {
    std::vector<std::vector<int>> longer;
    for (const auto& division : divisions) {
      int parts = 0;
      for (const int part : division) parts = std::max(parts, part + 1);
      for (int part = 0; part <= parts; ++part) {
        longer.push_back(division);
        longer.back().push_back(part);
      }
    }
    divisions = std::move(longer);
  }
  return divisions;
}

int PartsOf(const std::vector<int>& division) { return *std::ranges::max_element(division) + 1; }

// Keeps the smallest loss per cut, and the largest loss among equals.
struct MinimumPartition {
  double per_cut = std::numeric_limits<double>::infinity();
  double loss = 0;

  void Consider(double candidate, int cut) {
    const double clipped = std::max(0.0, candidate);
    const double normalised = clipped / cut;
    if (normalised > per_cut + kEqual) return;
    if (normalised < per_cut - kEqual) loss = 0;
    per_cut = std::min(per_cut, normalised);
    loss = std::max(loss, clipped);
  }
};

std::vector<int> ListOf(Nodes nodes) {
  std::vector<int> list;
  for (; nodes != 0; nodes &= nodes - 1) list.push_back(std::countr_zero(nodes));
  return list;
}

std::vector<Nodes> StatesWithMost(const std::vector<double>& information) {
  const double most = *std::ranges::max_element(information);
  std::vector<Nodes> states;
  for (Nodes state = 0; state < information.size(); ++state) {
    if (most > kEqual && information[state] > most - kEqual) states.push_back(state);
  }
  return states;
}

}  // namespace

Iit4Reference::Iit4Reference(const TransitionMatrix& matrix, Nodes state, Nodes members)
    : nodes_(CountOf(members)), state_(GatherBits(state, members)) {
  const Nodes outside = AllNodes(matrix.nodes) & ~members;
  const auto probability = [&](Nodes past) {
    double product = 1;
    for (int node = 0; node < matrix.nodes; ++node) {
      product *= (state >> node & 1) != 0 ? matrix.On(past, node) : 1 - matrix.On(past, node);
    }
    return product;
  };
  double total = 0;
  for (Nodes past = 0; past <= AllNodes(matrix.nodes); ++past) total += probability(past);
  effects_.nodes = causes_.nodes = nodes_;
  for (Nodes own = 0; own <= AllNodes(nodes_); ++own) {
    for (const int node : ListOf(members)) {
      effects_.on.push_back(matrix.On((state & outside) | ScatterBits(own, members), node));
      double on = 0;
      for (Nodes w = 0; w < StatesOf(outside); ++w) {
        double weight = 0;
        for (Nodes other = 0; other <= AllNodes(nodes_); ++other) {
          weight += probability(ScatterBits(w, outside) | ScatterBits(other, members)) / total;
        }
        on += weight * matrix.On(ScatterBits(w, outside) | ScatterBits(own, members), node);
      }
      causes_.on.push_back(on);
    }
  }
}

// P(next state of `nodes` as in `state`), each given its part of the present state.
double Iit4Reference::EffectOf(Nodes nodes, Nodes state, Nodes present, const Keeps& keeps) const {
  double product = 1;
  for (const int node : ListOf(nodes)) {
    double on = 0;
    const Nodes free = AllNodes(nodes_) & ~keeps[node];
    for (Nodes noise = 0; noise < StatesOf(free); ++noise) {
      on += effects_.On((present & keeps[node]) | ScatterBits(noise, free), node);
    }
    on /= static_cast<double>(StatesOf(free));
    product *= (state >> node & 1) != 0 ? on : 1 - on;
  }
  return product;
}

// P(present state of `nodes`), each given its part of the past state.
double Iit4Reference::CauseOf(Nodes nodes, Nodes past, const Keeps& keeps) const {
  double product = 1;
  for (const int node : ListOf(nodes)) {
    double on = 0;
    const Nodes free = AllNodes(nodes_) & ~keeps[node];
    for (Nodes noise = 0; noise < StatesOf(free); ++noise) {
      on += causes_.On((past & keeps[node]) | ScatterBits(noise, free), node);
    }
    on /= static_cast<double>(StatesOf(free));
    product *= (state_ >> node & 1) != 0 ? on : 1 - on;
  }
  return product;
}

double Iit4Reference::CauseInformation(Nodes mechanism, Nodes purview, Nodes past,
                                       double* selectivity) const {
  const Keeps keeps(nodes_, purview);
  double sum = 0;
  for (Nodes other = 0; other < StatesOf(purview); ++other) {
    sum += CauseOf(mechanism, ScatterBits(other, purview), keeps);
  }
  const double likelihood = CauseOf(mechanism, past, keeps);
  *selectivity = sum > 0 ? likelihood / sum : 0;
  if (likelihood == 0) return 0;
  return *selectivity * std::log2(likelihood / (sum / static_cast<double>(StatesOf(purview))));
}

double Iit4Reference::EffectInformation(Nodes mechanism, Nodes purview, Nodes next,
                                        double* selectivity) const {
  const Keeps keeps(nodes_, mechanism);
  double sum = 0;
  for (Nodes other = 0; other < StatesOf(mechanism); ++other) {
    sum += EffectOf(purview, next, ScatterBits(other, mechanism), keeps);
  }
  *selectivity = EffectOf(purview, next, state_, keeps);
  if (*selectivity == 0) return 0;
  return *selectivity * std::log2(*selectivity / (sum / static_cast<double>(StatesOf(mechanism))));
}

std::vector<Nodes> Iit4Reference::CauseStates() const {
  std::vector<double> information;
  double selectivity = 0;
  for (Nodes past = 0; past <= AllNodes(nodes_); ++past) {
    information.push_back(CauseInformation(AllNodes(nodes_), AllNodes(nodes_), past, &selectivity));
  }
  return StatesWithMost(information);
}

std::vector<Nodes> Iit4Reference::EffectStates() const {
  std::vector<double> information;
  double selectivity = 0;
  for (Nodes next = 0; next <= AllNodes(nodes_); ++next) {
    information.push_back(
        EffectInformation(AllNodes(nodes_), AllNodes(nodes_), next, &selectivity));
  }
  return StatesWithMost(information);
}

double Iit4Reference::SystemPhi(Nodes cause_state, Nodes effect_state) const {
  const Nodes all = AllNodes(nodes_);
  const Keeps whole(nodes_, all);
  double cause_selectivity = 0;
  double effect_selectivity = 0;
  CauseInformation(all, all, cause_state, &cause_selectivity);
  EffectInformation(all, all, effect_state, &effect_selectivity);
  MinimumPartition minimum;
  const auto consider = [&](const Keeps& keeps) {
    int cut = 0;
    for (const Nodes kept : keeps) cut += nodes_ - CountOf(kept);
    const double cause = cause_selectivity * std::log2(CauseOf(all, cause_state, whole) /
                                                       CauseOf(all, cause_state, keeps));
    const double effect =
        effect_selectivity * std::log2(EffectOf(all, effect_state, state_, whole) /
                                       EffectOf(all, effect_state, state_, keeps));
    minimum.Consider(std::min(cause, effect), cut);
  };
  if (nodes_ == 1) consider({0});
  for (const auto& division : Divisions(nodes_)) {
    const int parts = PartsOf(division);
    if (parts < 2) continue;
    const int directions = static_cast<int>(std::lround(std::pow(3, parts)));
    for (int code = 0; code < directions; ++code) {
      // 0: inputs are cut; 1: outputs; 2: both.
      const auto cut_of = [&](int part) {
        return code / static_cast<int>(std::lround(std::pow(3, part))) % 3;
      };
      Keeps keeps(nodes_, 0);
      for (int to = 0; to < nodes_; ++to) {
        for (int from = 0; from < nodes_; ++from) {
          const bool severed = division[from] != division[to] &&
                               (cut_of(division[to]) != 1 || cut_of(division[from]) != 0);
          if (!severed) keeps[to] |= Nodes{1} << from;
        }
      }
      consider(keeps);
    }
  }
  return minimum.loss;
}

double Iit4Reference::MechanismPhi(Nodes mechanism, const ReferencePurview& purview,
                                   bool is_cause) const {
  const std::vector<int> from = ListOf(mechanism);
  const std::vector<int> to = ListOf(purview.nodes);
  double selectivity = 0;
  if (is_cause) {
    CauseInformation(mechanism, purview.nodes, purview.state, &selectivity);
  } else {
    EffectInformation(mechanism, purview.nodes, purview.state, &selectivity);
  }
  const auto probability = [&](const Keeps& keeps) {
    return is_cause ? CauseOf(mechanism, purview.state, keeps)
                    : EffectOf(purview.nodes, purview.state, state_, keeps);
  };
  const double whole = probability(Keeps(nodes_, is_cause ? purview.nodes : mechanism));
  MinimumPartition minimum;
  for (const auto& division : Divisions(static_cast<int>(from.size() + to.size()))) {
    std::vector<Nodes> mechanisms(PartsOf(division), 0);
    std::vector<Nodes> purviews(PartsOf(division), 0);
    for (std::size_t i = 0; i < division.size(); ++i) {
      if (i < from.size()) {
        mechanisms[division[i]] |= Nodes{1} << from[i];
      } else {
        purviews[division[i]] |= Nodes{1} << to[i - from.size()];
      }
    }
    bool disintegrates = true;
    int cut = 0;
    Keeps keeps(nodes_, 0);
    for (std::size_t part = 0; part < mechanisms.size(); ++part) {
      if (mechanisms[part] == mechanism && purviews[part] != 0) disintegrates = false;
      cut += CountOf(mechanisms[part]) * CountOf(purview.nodes & ~purviews[part]);
      for (const int node : ListOf(is_cause ? mechanisms[part] : purviews[part])) {
        keeps[node] = is_cause ? purviews[part] : mechanisms[part];
      }
    }
    if (disintegrates) minimum.Consider(selectivity * std::log2(whole / probability(keeps)), cut);
  }
  return minimum.loss;
}

void Iit4Reference::FindPurviews(Nodes mechanism, bool is_cause, double* phi,
                                 std::vector<ReferencePurview>* found) const {
  for (Nodes purview = 1; purview <= AllNodes(nodes_); ++purview) {
    std::vector<double> information;
    double selectivity = 0;
    for (Nodes state = 0; state < StatesOf(purview); ++state) {
      const Nodes place = ScatterBits(state, purview);
      information.push_back(is_cause ? CauseInformation(mechanism, purview, place, &selectivity)
                                     : EffectInformation(mechanism, purview, place, &selectivity));
    }
    for (const Nodes state : StatesWithMost(information)) {
      const ReferencePurview candidate = {purview, ScatterBits(state, purview)};
      const double of_this = MechanismPhi(mechanism, candidate, is_cause);
      if (of_this < kEqual || of_this < *phi - kEqual) continue;
      if (of_this > *phi + kEqual) found->clear();
      *phi = std::max(*phi, of_this);
      found->push_back(candidate);
    }
  }
}

std::vector<ReferenceMechanism> Iit4Reference::Mechanisms() const {
  std::vector<ReferenceMechanism> mechanisms;
  for (Nodes mechanism = 1; mechanism <= AllNodes(nodes_); ++mechanism) {
    ReferenceMechanism found;
    found.mechanism = mechanism;
    FindPurviews(mechanism, true, &found.cause_phi, &found.causes);
    FindPurviews(mechanism, false, &found.effect_phi, &found.effects);
    if (found.cause_phi > 0 && found.effect_phi > 0) mechanisms.push_back(std::move(found));
  }
  return mechanisms;
}

namespace {

using InStates = std::set<std::pair<int, bool>>;

InStates SpecifiedBy(const ReferencePurview& purview) {
  InStates specified;
  for (const int node : ListOf(purview.nodes)) {
    specified.insert({node, (purview.state >> node & 1) != 0});
  }
  return specified;
}

InStates Common(const std::vector<InStates>& sets) {
  InStates common = sets.front();
  for (const InStates& set : sets) {
    std::erase_if(common, [&](const auto& element) { return !set.contains(element); });
  }
  return common;
}

}  // namespace

ReferenceRelations EnumerateRelations(const std::vector<ReferenceDistinction>& distinctions) {
  ReferenceRelations relations;
  const std::size_t count = distinctions.size();
  relations.by_order.resize(count);
  relations.sum_by_order.resize(count);
  relations.faces_by_order.resize(2 * count);
  for (Nodes chosen = 1; chosen <= AllNodes(static_cast<int>(count)); ++chosen) {
    // Each distinction contributes its cause, its effect or both.
    const std::vector<int> members = ListOf(chosen);
    InStates purview;
    double least = std::numeric_limits<double>::infinity();
    for (const int member : members) {
      InStates either = SpecifiedBy(distinctions[member].cause);
      either.merge(SpecifiedBy(distinctions[member].effect));
      least = std::min(least, distinctions[member].phi / static_cast<double>(either.size()));
    }
    const int codes = static_cast<int>(std::lround(std::pow(3, members.size())));
    for (int code = 0; code < codes; ++code) {
      std::vector<InStates> face;
      int rest = code;
      for (const int member : members) {
        if (rest % 3 != 1) face.push_back(SpecifiedBy(distinctions[member].cause));
        if (rest % 3 != 0) face.push_back(SpecifiedBy(distinctions[member].effect));
        rest /= 3;
      }
      if (face.size() < 2) continue;
      const InStates overlap = Common(face);
      if (overlap.empty()) continue;
      relations.faces_by_order[face.size() - 2] += 1;
      purview.insert(overlap.begin(), overlap.end());
    }
    if (purview.empty()) continue;
    const double phi = static_cast<double>(purview.size()) * least;
    relations.by_order[members.size() - 1] += 1;
    relations.sum_by_order[members.size() - 1] += phi;
    relations.sum_phi += phi;
  }
  return relations;
}

}  // namespace reveza::phi
