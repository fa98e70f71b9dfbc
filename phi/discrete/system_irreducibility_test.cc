#include "phi/discrete/system_irreducibility.h"

#include <gtest/gtest.h>

#include "phi/discrete/network_file.h"
#include "phi/discrete/testing_networks.h"

namespace reveza::phi {
namespace system_irreducibility_test {

// A = OR(B, C), B = COPY(C), C = XOR(A, B), with A on.
TransitionMatrix ThreeGates() { return BuiltInNetwork("or-copy-xor")->matrix; }
constexpr Nodes kState = 0b001;

SystemIrreducibility AnalyseAll(const TransitionMatrix& matrix, Nodes state, Nodes members,
                                const IrreducibilityOptions& options = {}) {
  const auto system = DiscreteSystem::Create(matrix, state, members);
  EXPECT_TRUE(system.has_value());
  return *Analyse(*system, options);
}

// The values of PyPhi 1.2.0.
TEST(SystemIrreducibilityTest, MatchesPublishedPhiAndConcepts) {
  const SystemIrreducibility result = AnalyseAll(ThreeGates(), kState, 0b111);
  EXPECT_EQ(result.phi, 2.3125);
  ASSERT_TRUE(result.cut);
  EXPECT_EQ(result.cut_concepts.size(), 1U);
  ASSERT_EQ(result.concepts.size(), 4U);
  const std::vector<std::array<double, 3>> phis = {
      {0.25, 0.5, 0.25}, {0.333333, 0.333333, 0.5}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
  const std::vector<std::array<Nodes, 3>> nodes = {
      {0b010, 0b100, 0b001}, {0b011, 0b110, 0b100}, {0b100, 0b011, 0b010}, {0b111, 0b111, 0b111}};
  for (std::size_t i = 0; i < 4; ++i) {
    const Concept& found = result.concepts[i];
    EXPECT_EQ((std::array{found.phi, found.cause.phi, found.effect.phi}), phis[i]);
    EXPECT_EQ((std::array{found.mechanism, found.cause.purview, found.effect.purview}), nodes[i]);
  }
  EXPECT_EQ(result.concepts[2].cause_repertoire, (std::vector<double>{0.5, 0, 0, 0.5}));
  // A,B,C: nothing of the mechanism over A, the rest over the rest.
  EXPECT_EQ(result.cause_partitions[3].mechanism, 0U);
  EXPECT_EQ(result.cause_partitions[3].purview, 0b001U);
  EXPECT_EQ(result.effect_partitions[3].purview, 0b010U);
}

TEST(SystemIrreducibilityTest, RejectsComplexesOfTooManyNodesEarly) {
  // Fully connected: the smaller subsets would take hours.
  constexpr int kNodes = kMaxSystemNodes + 1;
  TransitionMatrix matrix{.nodes = kNodes, .on = {}};
  for (int state = 0; state < 1 << kNodes; ++state) {
    for (int node = 0; node < kNodes; ++node) {
      matrix.on.push_back(0.05 + 0.9 * ((state * 37 + node * 11) % 64) / 64.0);
    }
  }
  const auto complexes = FindComplexes(matrix, 0, {});
  ASSERT_FALSE(complexes);
  EXPECT_NE(complexes.error().message.find("too many for an exact analysis"), std::string::npos);
}

TEST(SystemIrreducibilityTest, MatchesPublishedComplexes) {
  const auto complexes = FindComplexes(ThreeGates(), kState, {});
  ASSERT_TRUE(complexes);
  std::vector<double> phis;
  for (const auto& system : complexes->systems) phis.push_back(system.phi);
  EXPECT_EQ(phis, (std::vector<double>{0, 0, 1, 1, 2.3125}));
  EXPECT_EQ(complexes->major, 4U);
}

TEST(SystemIrreducibilityTest, FixesNodesOutside) {
  EXPECT_EQ(AnalyseAll(ThreeGates(), kState, 0b110).phi, 1.0);
  EXPECT_EQ(AnalyseAll(ThreeGates(), kState, 0b101).phi, 1.0);
}

TEST(SystemIrreducibilityTest, SingleNodesHavePhiOnlyIfEnabled) {
  // PyPhi's value where single nodes may have Phi.
  const auto matrix = *ToTransitionMatrix({{0.09}, {0.81}});
  EXPECT_EQ(AnalyseAll(matrix, 1, 1).phi, 0);
  EXPECT_EQ(AnalyseAll(matrix, 1, 1).why_zero, "one node has no parts");
  EXPECT_EQ(AnalyseAll(matrix, 1, 1, {.single_nodes_have_phi = true}).phi, 0.2736);
}

TEST(SystemIrreducibilityTest, DoesNotDependOnThreads) {
  const TransitionMatrix matrix = NoisyNetwork(4, 11);
  const SystemIrreducibility one = AnalyseAll(matrix, 0b0110, 0b1111, {.threads = 1});
  const SystemIrreducibility three = AnalyseAll(matrix, 0b0110, 0b1111, {.threads = 3});
  EXPECT_EQ(one.phi, three.phi);
  EXPECT_EQ(one.cut->from, three.cut->from);
  EXPECT_EQ(one.concepts.size(), three.concepts.size());
  EXPECT_GT(one.phi, 0);
}

// Permutes the nodes.
TEST(SystemIrreducibilityTest, IsInvariantUnderRenumbering) {
  const TransitionMatrix matrix = NoisyNetwork(3, 5);
  const std::array<int, 3> place = {2, 0, 1};
  const auto moved = [&](Nodes state) {
    Nodes there = 0;
    for (std::size_t node = 0; node < 3; ++node) there |= (state >> node & 1) << place[node];
    return there;
  };
  std::vector<std::vector<double>> rows(8, std::vector<double>(3));
  for (Nodes state = 0; state < 8; ++state) {
    for (int node = 0; node < 3; ++node) {
      rows[moved(state)][place[node]] = matrix.On(state, node);
    }
  }
  EXPECT_NEAR(AnalyseAll(matrix, 0b011, 0b111).phi,
              AnalyseAll(*ToTransitionMatrix(rows), moved(0b011), 0b111).phi, 1.1e-6);
}

TEST(SystemIrreducibilityTest, DisconnectedHalvesHaveZeroPhi) {
  // Two pairs of nodes that copy each other.
  std::vector<std::vector<double>> rows;
  for (Nodes state = 0; state < 16; ++state) {
    rows.emplace_back();
    for (const int source : {1, 0, 3, 2}) rows.back().push_back(state >> source & 1);
  }
  const SystemIrreducibility result = AnalyseAll(*ToTransitionMatrix(rows), 0, 0b1111);
  EXPECT_EQ(result.phi, 0);
  EXPECT_EQ(result.why_zero, "not every node can influence every other");
  EXPECT_EQ(result.concepts.size(), 4U);
}

// Whether some bipartition changes neither the cause repertoire of the mechanism over the purview
// (`cause`), nor the effect repertoire.
bool HasFreePartition(const Repertoires& repertoires, Nodes mechanism, Nodes purview, bool cause) {
  for (Nodes part = 0; part <= mechanism; ++part) {
    for (Nodes first = 0; first <= purview && IsWithin(part, mechanism); ++first) {
      const Nodes rest = mechanism & ~part;
      const Nodes second = purview & ~first;
      if (!IsWithin(first, purview) || part + first == 0 || rest + second == 0) continue;
      double change = 0;
      for (Nodes state = 0; cause && state < StatesOf(purview); ++state) {
        const Nodes whole = ScatterBits(state, purview);
        change += std::abs(repertoires.Cause(mechanism, purview)[state] -
                           repertoires.Cause(part, first)[GatherBits(whole, first)] *
                               repertoires.Cause(rest, second)[GatherBits(whole, second)]);
      }
      for (int node = 0; !cause && node < 4; ++node) {
        if ((purview >> node & 1) == 0) continue;
        change += std::abs(repertoires.EffectOn(mechanism, node) -
                           repertoires.EffectOn((first >> node & 1) != 0 ? part : rest, node));
      }
      if (change < 1e-12) return true;
    }
  }
  return false;
}

TEST(SystemIrreducibilityTest, WhatFallsApartHasNoPhi) {
  int apart = 0;
  int joined = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const TransitionMatrix matrix = GateNetwork(4, seed);
    const auto system = DiscreteSystem::Create(matrix, 0b0000, 0b1111);
    if (!system) continue;
    const Gather gather(4);
    const Repertoires uncut(*system, gather);
    const Repertoires cut(uncut, {.from = 0b0011, .to = 0b1100});
    for (const Repertoires* const repertoires : {&uncut, &cut}) {
      for (Nodes mechanism = 1; mechanism < 16; ++mechanism) {
        for (Nodes purview = 1; purview < 16; ++purview) {
          for (const bool cause : {true, false}) {
            const bool falls = cause ? repertoires->FallApart(purview, mechanism)
                                     : repertoires->FallApart(mechanism, purview);
            ++(falls ? apart : joined);
            const bool free = falls && HasFreePartition(*repertoires, mechanism, purview, cause);
            EXPECT_EQ(free, falls);
          }
        }
      }
    }
  }
  EXPECT_GT(apart, 500);
  EXPECT_GT(joined, 500);
}

TEST(SystemIrreducibilityTest, RunsWithFiveNodes) {
  EXPECT_GT(AnalyseAll(NoisyNetwork(5, 2), 0b10110, 0b11111, {.threads = 2}).phi, 0);
}

TEST(SystemIrreducibilityTest, RejectsUnreachableState) {
  // B copies C, A is B or C: B on with A off never is.
  const auto system = DiscreteSystem::Create(ThreeGates(), 0b010, 0b111);
  ASSERT_FALSE(system);
  EXPECT_NE(system.error().message.find("cannot be reached"), std::string::npos);
}

TEST(SystemIrreducibilityTest, RejectsTooManyNodesWithTimeEstimate) {
  const auto system = DiscreteSystem::Create(NoisyNetwork(9, 1), 0, AllNodes(kMaxSystemNodes + 1));
  const auto result = Analyse(*system, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("about 8 hours"), std::string::npos)
      << result.error().message;
}

}  // namespace system_irreducibility_test
}  // namespace reveza::phi
