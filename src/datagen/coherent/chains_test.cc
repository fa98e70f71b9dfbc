#include "datagen/coherent/chains.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace reveza::datagen::coherent {
namespace {

Parameters FourBlocks() {
  Parameters parameters;
  parameters.rows = 40'000;
  parameters.rows_per_block = 10'000;
  parameters.customers = 1'202;
  parameters.frauds = {.billionths = 50'000'000};
  return parameters;
}

TEST(Chains, EachHopLandsInOneBlock) {
  const World world(FourBlocks());
  const Chains chains(world);
  ASSERT_GT(chains.OfBlock(), 20u);
  std::set<std::tuple<uint64_t, uint64_t, uint32_t>> landed;
  for (uint64_t block = 0; block < world.blocks(); ++block) {
    for (uint64_t stratum = 0; stratum < chains.OfBlock(); ++stratum) {
      for (uint32_t hop = 0; hop < world.parameters().chains.most_hops; ++hop) {
        const ChainId id = chains.Landing(block, stratum, hop);
        EXPECT_TRUE(landed.emplace(id.block, id.stratum, hop).second) << "lands twice";
        if (hop >= chains.HopsOf(id)) continue;
        const Chain chain = chains.At(id);
        EXPECT_EQ(world.BlockOf(chain.mules[hop]), block) << "block and chain disagree";
      }
    }
  }
  EXPECT_EQ(landed.size(), 4 * chains.OfBlock() * world.parameters().chains.most_hops);
}

TEST(Chains, MoneyAndTimeRunOneWay) {
  const World world(FourBlocks());
  const Chains chains(world);
  for (uint64_t stratum = 0; stratum < chains.OfBlock(); ++stratum) {
    const ChainId id = {.block = 2, .stratum = stratum};
    const Chain chain = chains.At(id);
    ASSERT_GE(chain.victim_rows, 1u);
    ASSERT_GE(chain.hops, 2u);
    ASSERT_EQ(chain.hops, chains.HopsOf(id));
    EXPECT_GE(chain.paid[0].time, world.begin());
    int64_t time = chain.paid[chain.victim_rows - 1].time;
    int64_t amount = chain.Stolen();
    for (uint32_t hop = 0; hop < chain.hops; ++hop) {
      EXPECT_GT(chain.passed_on[hop].time, time);
      EXPECT_LT(chain.passed_on[hop].amount, amount);
      EXPECT_GT(chain.passed_on[hop].amount, 0);
      time = chain.passed_on[hop].time;
      amount = chain.passed_on[hop].amount;
      const int64_t hour = time % kDay / kHour;
      EXPECT_TRUE(hour >= 6 && hour < 20) << "the night limit would hold it back";
    }
    EXPECT_LT(time, world.end());
  }
}

// Those who wait until the next day come ever earlier, those who do not ever later.
TEST(Chains, NobodyPassesOnByNight) {
  Parameters parameters = FourBlocks();
  parameters.difficulty = 1'000;
  parameters.frauds = {.billionths = 500'000'000};
  parameters.chains.least_hops = 6;
  parameters.chains.most_hops = 6;
  for (const uint32_t delay : {2U, 30U}) {
    parameters.chains.least_delay_minutes = delay;
    parameters.chains.most_delay_minutes = delay;
    const World world(parameters);
    const Chains chains(world);
    ASSERT_GT(chains.OfBlock(), 100u);
    for (uint64_t chain = 0; chain < 4 * chains.OfBlock(); ++chain) {
      for (const auto& payment : chains.At({.block = chain % 4, .stratum = chain / 4}).passed_on) {
        const int64_t hour = payment.time % kDay / kHour;
        EXPECT_TRUE(hour >= 6 && hour < 20) << hour << " o'clock";
      }
    }
  }
}

TEST(Chains, VictimsAreOldCustomersWhoAreNoMules) {
  const World world(FourBlocks());
  const Chains chains(world);
  for (uint64_t block = 0; block < world.blocks(); ++block) {
    const Mules mules(world, block);
    for (uint64_t stratum = 0; stratum < chains.OfBlock(); ++stratum) {
      const Chain chain = chains.At({.block = block, .stratum = stratum});
      EXPECT_EQ(world.BlockOf(chain.victim), block);
      EXPECT_FALSE(mules.Has(chain.victim - world.FirstCustomer(block)));
      EXPECT_LT(world.PersonOf(chain.victim).opened_at, world.begin());
    }
  }
}

TEST(Chains, MulesAreDifferentPeopleWithRoles) {
  const World world(FourBlocks());
  for (uint64_t block = 0; block < world.blocks(); ++block) {
    const Mules mules(world, block);
    ASSERT_GT(mules.mules(), 0u);
    ASSERT_GT(mules.invented(), 0u);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < mules.mules(); ++i) {
      EXPECT_TRUE(seen.insert(mules.Mule(i)).second);
      EXPECT_EQ(mules.RoleOf(mules.Mule(i)), AccountRole::kMule);
    }
    for (uint64_t i = 0; i < mules.invented(); ++i) {
      EXPECT_TRUE(seen.insert(mules.Invented(i)).second);
      EXPECT_EQ(mules.RoleOf(mules.Invented(i)), AccountRole::kInvented);
    }
    uint64_t honest = 0;
    for (uint64_t i = 0; i < world.Customers(block); ++i) {
      honest += mules.RoleOf(i) == AccountRole::kHonest ? 1 : 0;
    }
    EXPECT_EQ(honest + seen.size(), world.Customers(block));
  }
}

TEST(Chains, AMuleIsBusyForWeeksOnly) {
  const World world(FourBlocks());
  const Chains chains(world);
  for (uint64_t stratum = 0; stratum < chains.OfBlock(); ++stratum) {
    const Chain chain = chains.At({.block = 1, .stratum = stratum});
    for (uint32_t hop = 0; hop < chain.hops; ++hop) {
      const uint64_t mule = chains.MuleIndex(stratum, hop);
      EXPECT_LT(mule, chains.BusyMules());
      EXPECT_GE(chain.passed_on[hop].time, chains.BusyFrom(mule) - kDay);
      EXPECT_LE(chain.passed_on[hop].time, chains.BusyUntil(mule) + 8 * kDay);
    }
  }
  EXPECT_LT(chains.BusyUntil(0) - chains.BusyFrom(0), 200 * kDay);
}

TEST(Chains, ThereAreNoneWhereThereIsNoRoom) {
  Parameters few = FourBlocks();
  few.customers = 100;
  EXPECT_EQ(Chains(World(few)).OfBlock(), 0u);
  Parameters honest = FourBlocks();
  honest.frauds = {};
  EXPECT_EQ(Chains(World(honest)).OfBlock(), 0u);
  Parameters week = FourBlocks();
  week.last_day = week.first_day + 6;
  EXPECT_EQ(Chains(World(week)).OfBlock(), 0u);
}

}  // namespace
}  // namespace reveza::datagen::coherent
