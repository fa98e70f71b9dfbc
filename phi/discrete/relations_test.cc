#include "phi/discrete/relations.h"

#include <gtest/gtest.h>

#include "phi/discrete/testing_iit4_reference.h"
#include "phi/discrete/testing_networks.h"

namespace reveza::phi {
namespace relations_test {

std::vector<ReferenceDistinction> RandomDistinctions(std::size_t count, std::uint64_t seed) {
  TestingNumbers numbers(seed);
  const auto purview = [&] {
    const auto nodes = static_cast<Nodes>(1 + (numbers.Next() * 7));
    // Causes and effects of a node may differ in state.
    return ReferencePurview{nodes, static_cast<Nodes>(numbers.Next() * 8) & nodes};
  };
  std::vector<ReferenceDistinction> distinctions;
  for (std::size_t i = 0; i < count; ++i) {
    const double phi = 0.1 + numbers.Next();
    const ReferencePurview cause = purview();
    distinctions.push_back({phi, cause, purview()});
  }
  return distinctions;
}

std::vector<Relatum> ToRelata(const std::vector<ReferenceDistinction>& distinctions) {
  std::vector<Relatum> relata;
  for (const ReferenceDistinction& distinction : distinctions) {
    relata.push_back({distinction.phi,
                      ToNodeStates(distinction.cause.nodes, distinction.cause.state),
                      ToNodeStates(distinction.effect.nodes, distinction.effect.state)});
  }
  return relata;
}

TEST(RelationsTest, SumsAndCountsWithoutEnumeration) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto distinctions = RandomDistinctions(1 + seed % 7, seed);
    const ReferenceRelations expected = EnumerateRelations(distinctions);
    const std::vector<Relatum> relata = ToRelata(distinctions);
    const Relations found = CountRelations(relata);
    EXPECT_NEAR(found.sum_phi, expected.sum_phi, 1e-9);
    EXPECT_NEAR(SumOfRelations(relata), expected.sum_phi, 1e-9);
    double count = 0;
    for (std::size_t i = 0; i < expected.by_order.size(); ++i) {
      const bool has = i < found.by_order.size();
      EXPECT_EQ(has ? found.by_order[i].count : 0, expected.by_order[i]) << seed << " " << i;
      EXPECT_NEAR(has ? found.by_order[i].sum_phi : 0, expected.sum_by_order[i], 1e-9);
      count += expected.by_order[i];
    }
    EXPECT_EQ(found.count, count);
    for (std::size_t i = 0; i < expected.faces_by_order.size(); ++i) {
      const bool has = i < found.faces_by_order.size();
      EXPECT_EQ(has ? found.faces_by_order[i] : 0, expected.faces_by_order[i]) << seed << " " << i;
    }
  }
}

TEST(RelationsTest, CountsMoreThanCanBeEnumerated) {
  // All distinctions that nine nodes can have specify the same node: every set of them is a
  // relation.
  constexpr int kCount = 511;
  const std::vector<Relatum> relata(kCount, Relatum{1.0, 0b1, 0b1});
  const Relations found = CountRelations(relata);
  EXPECT_NEAR(found.count / std::ldexp(1, kCount), 1, 1e-12);
  EXPECT_NEAR(found.sum_phi / std::ldexp(1, kCount), 1, 1e-12);
  EXPECT_NEAR(found.faces / std::ldexp(1, 2 * kCount), 1, 1e-12);
  EXPECT_EQ(found.by_order[1].count, kCount * (kCount - 1) / 2);
}

TEST(RelationsTest, StatesMustAgree) {
  // The same node, on for one and off for the other.
  const std::vector<Relatum> relata = {{1.0, ToNodeStates(1, 1), ToNodeStates(2, 0)},
                                       {1.0, ToNodeStates(1, 0), ToNodeStates(4, 0)}};
  EXPECT_EQ(CountRelations(relata).count, 0);
  EXPECT_EQ(SumOfRelations(relata), 0);
  EXPECT_EQ(CountRelations({}).count, 0);
}

}  // namespace relations_test
}  // namespace reveza::phi
