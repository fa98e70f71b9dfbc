// What PyPhi 2 says of the same networks; see pyphi_values.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "phi/discrete/iit4.h"
#include "phi/discrete/testing_networks.h"
#include "phi/discrete/testing_pyphi.h"

namespace reveza::phi {
namespace iit4_pyphi_test {

TransitionMatrix NetworkOf(const PyPhiSystem& given) {
  switch (given.kind) {
    case TestingKind::kNoisy:
      return NoisyNetwork(given.nodes, given.seed);
    case TestingKind::kDeterministic:
      return DeterministicNetwork(given.nodes, given.seed);
    case TestingKind::kGates:
      return GateNetwork(given.nodes, given.seed);
  }
  return {};
}

// Whether PyPhi's choice of states and purviews is defined: without phi_s, it is arbitrary where
// states tie, and where the system specifies none.
bool IsDetermined(const Iit4System& system) {
  return system.cause && system.effect &&
         (system.phi > 0 || (system.cause->tied == 1 && system.effect->tied == 1));
}

// The purview may be another one with the same phi.
void ExpectPurview(const Irreducible& found, Nodes purview, double phi) {
  EXPECT_NEAR(found.phi, phi, 1e-10);
  EXPECT_TRUE(
      std::ranges::any_of(found.tied, [&](const Purview& tied) { return tied.nodes == purview; }));
}

void ExpectDistinctions(const CandidateSystem& system, const PhiStructure& structure,
                        const PyPhiDistinction* expected) {
  const auto mechanisms = FindMechanisms(system, 1);
  for (const Distinction& distinction : structure.distinctions) {
    const Nodes mechanism = ScatterBits(distinction.mechanism, system.members());
    EXPECT_EQ(mechanism, expected->mechanism);
    EXPECT_NEAR(distinction.phi, std::min(expected->cause_phi, expected->effect_phi), 1e-10);
    const auto power =
        std::ranges::find(mechanisms, distinction.mechanism, &MechanismPower::mechanism);
    ExpectPurview(power->cause, GatherBits(expected->cause, system.members()), expected->cause_phi);
    ExpectPurview(power->effect, GatherBits(expected->effect, system.members()),
                  expected->effect_phi);
    ++expected;
  }
}

TEST(Iit4PyPhiTest, SystemsAndStructuresAreTheSame) {
  const PyPhiDistinction* distinctions = kPyPhiDistinctions.data();
  int structures = 0;
  for (const PyPhiSystem& expected : kPyPhiSystems) {
    SCOPED_TRACE(testing::Message() << "system " << (&expected - kPyPhiSystems.data()));
    const auto system =
        CandidateSystem::Create(NetworkOf(expected), expected.state, expected.members);
    ASSERT_TRUE(system.has_value());
    const Iit4System found = AnalyseIit4(*system, 1, true);
    EXPECT_NEAR(found.phi, expected.phi_s, 1e-10);
    if (IsDetermined(found)) {
      const PhiStructure& structure = *found.structure;
      EXPECT_NEAR(structure.phi, expected.big_phi, 1e-10 * std::max(1.0, expected.big_phi));
      EXPECT_EQ(structure.relations.count, expected.relations);
      EXPECT_EQ(structure.relations.faces, expected.faces);
      ASSERT_EQ(structure.distinctions.size(), expected.distinctions);
      ExpectDistinctions(*system, structure, distinctions);
      ++structures;
    }
    distinctions += expected.distinctions;
  }
  EXPECT_GT(structures, 60);
}

TEST(Iit4PyPhiTest, ComplexesAreTheSame) {
  auto next = kPyPhiComplexes.begin();
  for (std::size_t i = 0; i < kPyPhiSystems.size(); ++i) {
    const PyPhiSystem& network = kPyPhiSystems[i];
    if (network.nodes > 4 || network.members != AllNodes(network.nodes)) continue;
    const auto found = FindIit4Complexes(NetworkOf(network), network.state, 1);
    ASSERT_TRUE(found);
    std::vector<std::size_t> complexes = found->complexes;
    std::ranges::sort(complexes, {}, [&](std::size_t at) { return found->systems[at].members; });
    for (const std::size_t complex : complexes) {
      ASSERT_NE(next, kPyPhiComplexes.end());
      EXPECT_EQ(next->system, i);
      EXPECT_EQ(found->systems[complex].members, next->members);
      EXPECT_NEAR(found->systems[complex].phi, next->phi_s, 1e-10);
      ++next;
    }
  }
  EXPECT_EQ(next, kPyPhiComplexes.end());
}

}  // namespace iit4_pyphi_test
}  // namespace reveza::phi
