#include "phi/discrete/iit4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "phi/discrete/network_file.h"
#include "phi/discrete/testing_iit4_reference.h"
#include "phi/discrete/testing_networks.h"

namespace reveza::phi {
namespace iit4_test {

Iit4System AnalyseMembers(const TransitionMatrix& matrix, Nodes state, Nodes members,
                          int threads = 1) {
  const auto system = CandidateSystem::Create(matrix, state, members);
  EXPECT_TRUE(system.has_value());
  return AnalyseIit4(*system, threads, true);
}

bool IsReachableState(const TransitionMatrix& matrix, Nodes state) {
  return CandidateSystem::Create(matrix, state, AllNodes(matrix.nodes)).has_value();
}

// Networks of every kind with a reachable state.
struct TestingCase {
  TransitionMatrix matrix;
  Nodes state = 0;
};
std::vector<TestingCase> Cases(int nodes, std::uint64_t seeds) {
  std::vector<TestingCase> cases;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    for (const TransitionMatrix& matrix :
         {NoisyNetwork(nodes, seed), DeterministicNetwork(nodes, seed), GateNetwork(nodes, seed)}) {
      Nodes state = static_cast<Nodes>(seed) & AllNodes(nodes);
      while (!IsReachableState(matrix, state)) state = (state + 1) & AllNodes(nodes);
      cases.push_back({matrix, state});
    }
  }
  return cases;
}

std::vector<Nodes> StatesOfTies(const SpecifiedStates& states) {
  std::vector<Nodes> tied;
  for (const SpecifiedState& state : states.tied) tied.push_back(state.state);
  return tied;
}

TEST(Iit4Test, SystemPhiMatchesEnumeration) {
  int tested = 0;
  for (const int nodes : {1, 2, 3, 4}) {
    for (const TestingCase& given : Cases(nodes, nodes == 4 ? 3 : 12)) {
      for (Nodes members = 1; members <= AllNodes(nodes); ++members) {
        const auto system = CandidateSystem::Create(given.matrix, given.state, members);
        ASSERT_TRUE(system.has_value());
        const Iit4Reference reference(given.matrix, given.state, members);
        StateSearch search(*system);
        search.Begin(system->all());
        const SpecifiedStates causes = search.Cause(system->all());
        const SpecifiedStates effects = search.Effect(system->all());
        EXPECT_EQ(StatesOfTies(causes), reference.CauseStates());
        EXPECT_EQ(StatesOfTies(effects), reference.EffectStates());
        if (causes.tied.empty() || effects.tied.empty()) continue;
        const SystemLoss found =
            FindMinimumPartition(*system, causes.tied.back(), effects.tied.back());
        EXPECT_NEAR(found.phi,
                    reference.SystemPhi(causes.tied.back().state, effects.tied.back().state),
                    1e-10);
        ++tested;
      }
    }
  }
  EXPECT_GT(tested, 300);
}

void ExpectSamePurviews(const Irreducible& found, double phi,
                        const std::vector<ReferencePurview>& expected) {
  EXPECT_NEAR(found.phi, phi, 1e-10);
  const auto has = [&](const ReferencePurview& purview) {
    return std::ranges::any_of(found.tied, [&](const Purview& other) {
      return other.nodes == purview.nodes && other.state == purview.state;
    });
  };
  EXPECT_EQ(found.tied.size(), expected.size());
  EXPECT_TRUE(std::ranges::all_of(expected, has));
}

TEST(Iit4Test, MechanismsMatchEnumeration) {
  std::size_t tested = 0;
  for (const int nodes : {1, 2, 3}) {
    for (const TestingCase& given : Cases(nodes, 8)) {
      const auto system = CandidateSystem::Create(given.matrix, given.state, AllNodes(nodes));
      const auto expected = Iit4Reference(given.matrix, given.state, AllNodes(nodes)).Mechanisms();
      const auto found = FindMechanisms(*system, 1);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].mechanism, expected[i].mechanism);
        ExpectSamePurviews(found[i].cause, expected[i].cause_phi, expected[i].causes);
        ExpectSamePurviews(found[i].effect, expected[i].effect_phi, expected[i].effects);
      }
      tested += found.size();
    }
  }
  EXPECT_GT(tested, 100U);
}

// The loss of a partition, recomputed from its parts.
TEST(Iit4Test, PartitionsHaveThePhiThatIsReported) {
  const TransitionMatrix matrix = NoisyNetwork(4, 3);
  const auto system = CandidateSystem::Create(matrix, 0b0110, 0b1111);
  for (const MechanismPower& power : FindMechanisms(*system, 1)) {
    const Purview& effect = power.effect.tied.front();
    double bits = 0;
    Nodes mechanism = 0;
    Nodes purview = 0;
    for (const JointPart& part : effect.partition) {
      mechanism |= part.mechanism;
      purview |= part.purview;
      for (int node = 0; node < 4; ++node) {
        if ((part.purview >> node & 1) == 0) continue;
        const auto log2_of = [&](Nodes given) {
          const double on = system->On(node, given)[GatherBits(system->state(), given)];
          return std::log2((effect.state >> node & 1) != 0 ? on : 1 - on);
        };
        bits += log2_of(power.mechanism) - log2_of(part.mechanism);
      }
    }
    EXPECT_EQ(mechanism, power.mechanism);
    EXPECT_EQ(purview, effect.nodes);
    EXPECT_NEAR(effect.selectivity * bits, power.effect.phi, 1e-10);
  }
}

TEST(Iit4Test, StructureTakesTheTiesWithTheLargestPhi) {
  std::size_t ties = 0;
  for (const TestingCase& given : Cases(3, 10)) {
    const auto system = CandidateSystem::Create(given.matrix, given.state, 0b111);
    const auto mechanisms = FindMechanisms(*system, 1);
    StateSearch search(*system);
    search.Begin(0b111);
    const SpecifiedStates causes = search.Cause(0b111);
    const SpecifiedStates effects = search.Effect(0b111);
    if (causes.tied.empty() || effects.tied.empty()) continue;
    const Nodes cause_state = causes.tied.front().state;
    const Nodes effect_state = effects.tied.front().state;
    // All combinations of purviews that agree with the states.
    std::vector<std::vector<ReferenceDistinction>> combinations = {{}};
    for (const MechanismPower& power : mechanisms) {
      std::vector<ReferenceDistinction> choices;
      for (const Purview& cause : power.cause.tied) {
        for (const Purview& effect : power.effect.tied) {
          if (cause.state != (cause_state & cause.nodes)) continue;
          if (effect.state != (effect_state & effect.nodes)) continue;
          choices.push_back({std::min(power.cause.phi, power.effect.phi),
                             {cause.nodes, cause.state},
                             {effect.nodes, effect.state}});
        }
      }
      if (choices.empty() || combinations.size() * choices.size() > 200) continue;
      std::vector<std::vector<ReferenceDistinction>> longer;
      for (const auto& combination : combinations) {
        for (const ReferenceDistinction& choice : choices) {
          longer.push_back(combination);
          longer.back().push_back(choice);
        }
      }
      combinations = std::move(longer);
    }
    const PhiStructure structure = Unfold(mechanisms, cause_state, effect_state);
    if (structure.distinctions.size() != combinations.front().size()) continue;
    double largest = 0;
    for (const auto& combination : combinations) {
      largest = std::max(largest, EnumerateRelations(combination).sum_phi);
    }
    EXPECT_NEAR(structure.relations.sum_phi, largest, 1e-9);
    EXPECT_NEAR(structure.phi, structure.sum_phi_d + largest, 1e-9);
    ties += combinations.size() - 1;
  }
  EXPECT_GT(ties, 10U);
}

// The system of figure 7 of Albantakis et al. 2023: nodes are on with probability
// 1 / (1 + exp(-4 (sum of weights of inputs, times 1 if on or -1 if off))). The first `nodes` nodes
// are free, the others off.
TransitionMatrix SystemOfFigure7(int nodes) {
  constexpr double kStrong = 0.8;
  constexpr double kWeak = 0.05;
  constexpr std::array<std::array<double, 5>, 5> kFromTo = {{
      {kWeak, kStrong, kWeak, kWeak, -kWeak},
      {-kWeak, kWeak, kStrong, kWeak, kWeak},
      {kWeak, -kWeak, kWeak, kStrong, kWeak},
      {0.4, kWeak, -kWeak, kWeak, kStrong},
      {kStrong, kWeak, kWeak, -kWeak, kWeak},
  }};
  TransitionMatrix matrix = {.nodes = nodes, .on = {}};
  for (Nodes state = 0; state <= AllNodes(nodes); ++state) {
    for (int to = 0; to < nodes; ++to) {
      double sum = 0;
      for (int from = 0; from < 5; ++from) {
        sum += kFromTo[from][to] * ((state >> from & 1) != 0 ? 1 : -1);
      }
      matrix.on.push_back(1 / (1 + std::exp(-4 * sum)));
    }
  }
  return matrix;
}

// The paper has Phi 22.26 with 23 distinctions for A, and 3.35 with 14 for C. PyPhi 2 has 22.266513
// for A, as we do.
TEST(Iit4Test, MatchesPublishedStructures) {
  const Iit4System active = AnalyseMembers(SystemOfFigure7(5), 0b10011, 0b11111);
  EXPECT_NEAR(active.structure->phi, 22.26651275737652, 1e-9);
  EXPECT_NEAR(active.phi, 1.1055500421826714, 1e-10);
  EXPECT_EQ(active.structure->distinctions.size(), 23U);
  EXPECT_EQ(active.structure->relations.count, 13740);
  const auto complexes = FindIit4Complexes(SystemOfFigure7(5), 0b10011, 1);
  EXPECT_EQ(complexes->complexes, (std::vector<std::size_t>{30}));
  const Iit4System inactivated = AnalyseMembers(SystemOfFigure7(4), 0b0011, 0b1111);
  EXPECT_NEAR(inactivated.structure->phi, 3.35, 0.005);
  EXPECT_EQ(inactivated.structure->distinctions.size(), 14U);
}

TEST(Iit4Test, DisconnectedSystemsHaveZeroPhi) {
  // Two pairs of nodes that copy each other.
  std::vector<std::vector<double>> rows;
  for (Nodes state = 0; state < 16; ++state) {
    rows.emplace_back();
    for (const int source : {1, 0, 3, 2}) rows.back().push_back(state >> source & 1);
  }
  const auto matrix = *ToTransitionMatrix(rows);
  const Iit4System whole = AnalyseMembers(matrix, 0, 0b1111);
  EXPECT_EQ(whole.phi, 0);
  EXPECT_FALSE(whole.why_zero.empty());
  // Each pair is a complex.
  const auto found = FindIit4Complexes(matrix, 0, 1);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->complexes.size(), 2U);
  EXPECT_EQ(found->systems[found->complexes[0]].members, 0b0011U);
  EXPECT_EQ(found->systems[found->complexes[1]].members, 0b1100U);
  EXPECT_NEAR(found->systems[found->complexes[0]].phi, 2, 1e-12);
}

TEST(Iit4Test, FeedForwardSystemsHaveZeroPhi) {
  // B copies A with noise, A copies itself.
  const auto matrix = *ToTransitionMatrix({{0.1, 0.2}, {0.9, 0.8}, {0.1, 0.2}, {0.9, 0.8}});
  EXPECT_EQ(AnalyseMembers(matrix, 0b11, 0b11).phi, 0);
}

TEST(Iit4Test, IsInvariantUnderRenumbering) {
  constexpr std::array<int, 4> kPlace = {2, 0, 3, 1};
  const auto moved = [&](Nodes nodes) {
    Nodes there = 0;
    for (std::size_t node = 0; node < 4; ++node) there |= (nodes >> node & 1) << kPlace[node];
    return there;
  };
  for (const TestingCase& given : Cases(4, 4)) {
    TransitionMatrix renumbered = given.matrix;
    for (Nodes state = 0; state < 16; ++state) {
      for (int node = 0; node < 4; ++node) {
        renumbered.on[(moved(state) * 4) + static_cast<std::size_t>(kPlace[node])] =
            given.matrix.On(state, node);
      }
    }
    for (const Nodes members : {0b1111U, 0b0111U, 0b1010U}) {
      const Iit4System one = AnalyseMembers(given.matrix, given.state, members);
      const Iit4System other = AnalyseMembers(renumbered, moved(given.state), moved(members));
      EXPECT_NEAR(one.phi, other.phi, 1e-10);
      ASSERT_EQ(one.structure.has_value(), other.structure.has_value());
      // Without phi_s, tied states of the system are not chosen by their structure.
      if (!one.structure || one.phi == 0) continue;
      EXPECT_NEAR(one.structure->phi, other.structure->phi, 1e-9);
      EXPECT_EQ(one.structure->distinctions.size(), other.structure->distinctions.size());
      EXPECT_EQ(one.structure->relations.count, other.structure->relations.count);
    }
  }
}

TEST(Iit4Test, DoesNotDependOnThreads) {
  const TransitionMatrix matrix = NoisyNetwork(4, 11);
  const Iit4System one = AnalyseMembers(matrix, 0b0110, 0b1111, 1);
  const Iit4System three = AnalyseMembers(matrix, 0b0110, 0b1111, 3);
  EXPECT_EQ(one.phi, three.phi);
  EXPECT_EQ(one.structure->phi, three.structure->phi);
  const auto by_one = FindIit4Complexes(matrix, 0b0110, 1);
  const auto by_three = FindIit4Complexes(matrix, 0b0110, 3);
  EXPECT_EQ(by_one->complexes, by_three->complexes);
}

TEST(Iit4Test, ComplexesExcludeWhatTheyOverlap) {
  for (const TestingCase& given : Cases(4, 6)) {
    const auto found = FindIit4Complexes(given.matrix, given.state, 2);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->systems.size(), 15U);
    Nodes taken = 0;
    double before = std::numeric_limits<double>::infinity();
    for (const std::size_t i : found->complexes) {
      const Iit4System& system = found->systems[i];
      EXPECT_EQ(system.members & taken, 0U);
      EXPECT_LE(system.phi, before + 1e-12);
      EXPECT_GT(system.phi, 0);
      EXPECT_TRUE(system.structure.has_value());
      taken |= system.members;
      before = system.phi;
    }
    if (found->complexes.empty()) continue;
    for (const Iit4System& system : found->systems) {
      EXPECT_LE(system.phi, found->systems[found->complexes.front()].phi + 1e-12);
    }
  }
}

TEST(Iit4Test, OverlappingSystemsThatTieAreNoComplexes) {
  // Each node is the AND of the other two, with noise. With A and B on, {A, C} and {B, C} have the
  // same phi_s and Phi, and no other system has any. PyPhi 2 finds no complex either.
  std::vector<std::vector<double>> rows;
  for (Nodes state = 0; state < 8; ++state) {
    rows.emplace_back();
    for (int node = 0; node < 3; ++node) {
      rows.back().push_back(CountOf(state & ~(Nodes{1} << node)) == 2 ? 0.9 : 0.05);
    }
  }
  const auto found = FindIit4Complexes(*ToTransitionMatrix(rows), 0b011, 1);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->complexes.empty());
  EXPECT_EQ(
      std::ranges::count_if(found->systems, [](const auto& system) { return system.phi > 0; }), 2);
  // In the state with all on, the whole has the largest phi_s.
  EXPECT_EQ(FindIit4Complexes(*ToTransitionMatrix(rows), 0b111, 1)->complexes,
            (std::vector<std::size_t>{6}));
}

TEST(Iit4Test, TiesOfStatesAreDecidedByTheStructure) {
  // Each node is the XOR of the other two: two past states tie, whose structures are the same. The
  // values of PyPhi 2.
  const Iit4System same = AnalyseMembers(BuiltInNetwork("xor")->matrix, 0, 0b111);
  EXPECT_EQ(same.cause->tied, 2U);
  EXPECT_NEAR(same.phi, 1.5, 1e-12);
  EXPECT_NEAR(same.structure->phi, 9.5, 1e-12);
  // A is the XOR of both nodes, B its opposite: two past states tie, and so does Phi, but with
  // different structures. PyPhi 2 agrees that this is no complex.
  const auto matrix = *ToTransitionMatrix({{0, 1}, {1, 0}, {1, 0}, {0, 1}});
  const Iit4System different = AnalyseMembers(matrix, 0b10, 0b11);
  EXPECT_EQ(different.phi, 0);
  EXPECT_NEAR(different.cause->phi, 1, 1e-12);
  EXPECT_FALSE(different.why_zero.empty());
}

TEST(Iit4Test, SingleNodesThatInfluenceThemselvesHavePhi) {
  // P(on) 0.9 after on and 0.1 after off, when on: 0.9 log2(0.9 / 0.5).
  const auto matrix = *ToTransitionMatrix({{0.1}, {0.9}});
  const Iit4System found = AnalyseMembers(matrix, 1, 1);
  EXPECT_NEAR(found.phi, 0.9 * std::log2(1.8), 1e-12);
  EXPECT_EQ(AnalyseMembers(*ToTransitionMatrix({{0.3}, {0.3}}), 1, 1).phi, 0);
}

TEST(Iit4Test, RejectsUnreachableStatesAndTooManyNodes) {
  // A is B or C, B is C: B on with A off never is.
  const auto matrix = BuiltInNetwork("or-copy-xor")->matrix;
  const auto unreachable = CandidateSystem::Create(matrix, 0b010, 0b111);
  ASSERT_FALSE(unreachable);
  EXPECT_NE(unreachable.error().message.find("cannot be reached"), std::string::npos);
  // The state of the whole network matters, not only that of the members.
  EXPECT_FALSE(CandidateSystem::Create(matrix, 0b010, 0b100));
  EXPECT_FALSE(FindIit4Complexes(matrix, 0b010, 1));
  constexpr int kNodes = kMaxCandidateNodes + 1;
  TransitionMatrix large{.nodes = kNodes, .on = {}};
  large.on.assign(static_cast<std::size_t>(kNodes) << kNodes, 0.5);
  const auto too_many = FindIit4Complexes(large, 0, 1);
  ASSERT_FALSE(too_many);
  EXPECT_NE(too_many.error().message.find("too many"), std::string::npos);
}

}  // namespace iit4_test
}  // namespace reveza::phi
