// Properties: what holds in every world.
#include "simulator/scenario.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace reveza::simulator {
namespace {

// Fixed seeds, and one more from the environment (REVEZA_SEED).
std::vector<std::uint64_t> Seeds(std::uint64_t count) {
  std::vector<std::uint64_t> seeds;
  if (const char* seed = std::getenv("REVEZA_SEED")) {
    seeds.push_back(std::strtoull(seed, nullptr, 10));
    return seeds;
  }
  for (std::uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
  return seeds;
}

struct Total {
  std::uint64_t events = 0;
  Checker::Seen seen;
};

Total PlayAll(Flavour flavour, std::uint64_t worlds) {
  Total total;
  for (const std::uint64_t seed : Seeds(worlds)) {
    const Outcome outcome = Play(RandomScenario(seed, flavour));
    EXPECT_EQ(outcome.failure, "") << "REVEZA_SEED=" << seed;
    EXPECT_TRUE(outcome.all_finished) << "REVEZA_SEED=" << seed << "\n" << outcome.state;
    total.events += outcome.events;
    total.seen.turns += outcome.seen.turns;
    total.seen.gates_closed += outcome.seen.gates_closed;
    total.seen.slices_checked += outcome.seen.slices_checked;
    total.seen.evictions += outcome.seen.evictions;
    total.seen.growths_granted += outcome.seen.growths_granted;
    total.seen.growths_later += outcome.seen.growths_later;
    total.seen.growths_refused += outcome.seen.growths_refused;
    total.seen.queued += outcome.seen.queued;
    if (!outcome.failure.empty() || !outcome.all_finished) break;
  }
  std::printf(
      "events %lu turns %lu closed %lu slices %lu evictions %lu granted %lu later %lu refused %lu "
      "queued %lu\n",
      total.events, total.seen.turns, total.seen.gates_closed, total.seen.slices_checked,
      total.seen.evictions, total.seen.growths_granted, total.seen.growths_later,
      total.seen.growths_refused, total.seen.queued);
  return total;
}

TEST(Property, BusyJobsTakeTurns) { PlayAll(Flavour::kPlain, 2000); }
TEST(Property, Growing) { PlayAll(Flavour::kGrowing, 2000); }
TEST(Property, Rough) { PlayAll(Flavour::kRough, 3000); }
TEST(Property, Fitting) { PlayAll(Flavour::kFitting, 500); }

}  // namespace
}  // namespace reveza::simulator
