#include "fraudgen/model/coherent/chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "fraudgen/model/coherent/frauds.h"

namespace reveza::fraudgen::coherent {
namespace chains_test {

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
  ASSERT_GT(chains.PerBlock(), 20u);
  std::set<std::tuple<uint64_t, uint64_t, uint32_t>> landed;
  for (uint64_t block = 0; block < world.blocks(); ++block) {
    for (uint64_t stratum = 0; stratum < chains.PerBlock(); ++stratum) {
      for (uint32_t hop = 0; hop < world.parameters().chains.hops.max; ++hop) {
        const ChainId id = chains.Landing(block, stratum, hop);
        EXPECT_TRUE(landed.emplace(id.block, id.stratum, hop).second) << "hop lands twice";
        if (hop >= chains.HopsOf(id)) continue;
        const Chain chain = chains.At(id);
        EXPECT_GE(chain.mules[hop], world.FirstCustomer(block));
        EXPECT_LT(chain.mules[hop], world.FirstCustomer(block + 1));
      }
    }
  }
  EXPECT_EQ(landed.size(), 4 * chains.PerBlock() * world.parameters().chains.hops.max);
}

TEST(Chains, AmountsFallAndTimesRise) {
  const World world(FourBlocks());
  const Chains chains(world);
  for (uint64_t stratum = 0; stratum < chains.PerBlock(); ++stratum) {
    const ChainId id = {.block = 2, .stratum = stratum};
    const Chain chain = chains.At(id);
    ASSERT_GE(chain.victim_rows, 1u);
    ASSERT_GE(chain.hops, 2u);
    ASSERT_EQ(chain.hops, chains.HopsOf(id));
    EXPECT_GE(chain.victim_payments[0].time, world.begin());
    int64_t time = chain.victim_payments[chain.victim_rows - 1].time;
    int64_t amount = chain.Stolen();
    for (uint32_t hop = 0; hop < chain.hops; ++hop) {
      EXPECT_GT(chain.transfers[hop].time, time);
      EXPECT_LT(chain.transfers[hop].amount, amount);
      EXPECT_GT(chain.transfers[hop].amount, 0);
      time = chain.transfers[hop].time;
      amount = chain.transfers[hop].amount;
      const int64_t hour = time % kDay / kHour;
      EXPECT_TRUE(hour >= 6 && hour < 20) << "blocked by the night limit";
    }
    EXPECT_LT(time, world.end());
  }
}

// Payments of one victim within minutes, to a mule that many pay, would give most of them away.
TEST(Chains, DifficultFraudsAreHoursApart) {
  const auto share_of_hours = [](uint32_t difficulty) {
    Parameters parameters = FourBlocks();
    parameters.difficulty = difficulty;
    const World world(parameters);
    const Chains chains(world);
    int gaps = 0;
    int hours = 0;
    for (uint64_t stratum = 0; stratum < 4 * chains.PerBlock(); ++stratum) {
      const Chain chain = chains.At({.block = stratum % 4, .stratum = stratum / 4});
      for (uint32_t i = 1; i < chain.victim_rows; ++i) {
        const int64_t gap = chain.victim_payments[i].time - chain.victim_payments[i - 1].time;
        EXPECT_GT(gap, 0);
        ++gaps;
        hours += gap >= kHour ? 1 : 0;
      }
    }
    EXPECT_GT(gaps, 50);
    return static_cast<double>(hours) / gaps;
  };
  EXPECT_LT(share_of_hours(0), 0.3);
  EXPECT_GT(share_of_hours(1'000), 0.6);
}

// Delays of a day drift to earlier hours, short delays to later ones.
TEST(Chains, NoTransfersAtNight) {
  Parameters parameters = FourBlocks();
  parameters.difficulty = 1'000;
  parameters.frauds = {.billionths = 500'000'000};
  parameters.chains.hops.min = 6;
  parameters.chains.hops.max = 6;
  for (const uint32_t delay : {2U, 30U}) {
    parameters.chains.delay_minutes.min = delay;
    parameters.chains.delay_minutes.max = delay;
    const World world(parameters);
    const Chains chains(world);
    ASSERT_GT(chains.PerBlock(), 100u);
    for (uint64_t chain = 0; chain < 4 * chains.PerBlock(); ++chain) {
      for (const auto& payment : chains.At({.block = chain % 4, .stratum = chain / 4}).transfers) {
        const int64_t hour = payment.time % kDay / kHour;
        EXPECT_TRUE(hour >= 6 && hour < 20) << hour << " o'clock";
      }
    }
  }
}

TEST(Chains, VictimsHaveOldAccountsAndAreNotMules) {
  const World world(FourBlocks());
  const Chains chains(world);
  for (uint64_t block = 0; block < world.blocks(); ++block) {
    const Mules mules(world, block);
    for (uint64_t stratum = 0; stratum < chains.PerBlock(); ++stratum) {
      const Chain chain = chains.At({.block = block, .stratum = stratum});
      EXPECT_GE(chain.victim, world.FirstCustomer(block));
      EXPECT_LT(chain.victim, world.FirstCustomer(block + 1));
      EXPECT_FALSE(mules.Has(chain.victim - world.FirstCustomer(block)));
      EXPECT_LT(world.PersonOf(chain.victim).opened_at, world.begin());
    }
  }
}

TEST(Chains, MulesAreDistinctAndHaveRoles) {
  const World world(FourBlocks());
  for (uint64_t block = 0; block < world.blocks(); ++block) {
    const Mules mules(world, block);
    ASSERT_GT(mules.mules(), 0u);
    ASSERT_GT(mules.synthetic(), 0u);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < mules.mules(); ++i) {
      EXPECT_TRUE(seen.insert(mules.Mule(i)).second);
      EXPECT_EQ(mules.RoleOf(mules.Mule(i)), AccountRole::kMule);
    }
    for (uint64_t i = 0; i < mules.synthetic(); ++i) {
      EXPECT_TRUE(seen.insert(mules.Synthetic(i)).second);
      EXPECT_EQ(mules.RoleOf(mules.Synthetic(i)), AccountRole::kSynthetic);
    }
    uint64_t honest = 0;
    for (uint64_t i = 0; i < world.Customers(block); ++i) {
      honest += mules.RoleOf(i) == AccountRole::kHonest ? 1 : 0;
    }
    EXPECT_EQ(honest + seen.size(), world.Customers(block));
  }
}

TEST(Chains, MulesAreActiveForWeeksOnly) {
  const World world(FourBlocks());
  const Chains chains(world);
  for (uint64_t stratum = 0; stratum < chains.PerBlock(); ++stratum) {
    const Chain chain = chains.At({.block = 1, .stratum = stratum});
    for (uint32_t hop = 0; hop < chain.hops; ++hop) {
      const uint64_t mule = chains.MuleIndex(stratum, hop);
      EXPECT_LT(mule, chains.ActiveMules());
      EXPECT_GE(chain.transfers[hop].time, chains.ActiveFrom(mule) - kDay);
      EXPECT_LE(chain.transfers[hop].time, chains.ActiveUntil(mule) + 8 * kDay);
    }
  }
  EXPECT_LT(chains.ActiveUntil(0) - chains.ActiveFrom(0), 200 * kDay);
}

TEST(Chains, NoneInPeriodsThatAreTooShort) {
  Parameters few = FourBlocks();
  few.customers = 100;
  EXPECT_EQ(Chains(World(few)).PerBlock(), 0u);
  Parameters honest = FourBlocks();
  honest.frauds = {};
  EXPECT_EQ(Chains(World(honest)).PerBlock(), 0u);
  Parameters week = FourBlocks();
  week.last_day = week.first_day + 6;
  EXPECT_EQ(Chains(World(week)).PerBlock(), 0u);
}

}  // namespace chains_test

namespace victims_test {

// A million payments of a year, 2 % of them frauds: one block.
Parameters Year() {
  Parameters parameters;
  parameters.rows = 1'000'000;
  return parameters;
}

TEST(Victims, TenPercentOfCustomersBearMostFrauds) {
  const World world(Year());
  const Chains chains(world);
  std::vector<uint32_t> frauds(world.customers());
  for (const FraudPlan& plan : FraudPlanner(world, chains, 0).Plan()) ++frauds[plan.customer];
  std::ranges::sort(frauds, std::greater());
  uint64_t of_a_tenth = 0;
  for (std::size_t i = 0; i < frauds.size() / 10; ++i) of_a_tenth += frauds[i];
  EXPECT_GT(of_a_tenth * 100, world.total_frauds() * 50);
  const auto none = static_cast<std::size_t>(std::ranges::count(frauds, 0u));
  EXPECT_GT(none * 100, frauds.size() * 45) << "most customers have no fraud at all";
}

// Otherwise an old fraud would predict new ones.
TEST(Victims, AccountsAreCompromisedForWeeksOnly) {
  const World world(Year());
  const Chains chains(world);
  const Mules mules(world, 0);
  std::map<uint32_t, std::pair<int64_t, int64_t>> times;
  for (const FraudPlan& plan : FraudPlanner(world, chains, 0).Plan()) {
    // Neighbours of a victim are compromised in addition.
    if (mules.Has(plan.customer)) continue;
    if (world.parameters().scenarios[plan.scenario].same_quarter) continue;
    auto& [first, last] =
        times.emplace(plan.customer, std::pair(plan.time, plan.time)).first->second;
    first = std::min(first, plan.time);
    last = std::max(last, plan.time);
  }
  ASSERT_GT(times.size(), 200u);
  // Pauses may add a few days; one in a hundred has a second burst.
  const int64_t max = (int64_t{world.parameters().victims.days.max} + 10) * kDay;
  const auto longer = std::ranges::count_if(times, [max](const auto& of_customer) {
    return of_customer.second.second - of_customer.second.first > max;
  });
  EXPECT_LT(static_cast<std::size_t>(longer) * 25, times.size());
}

TEST(Victims, BurstsLieWithinAccountAndData) {
  for (const int64_t days : {1, 30, 366, 3'000}) {
    for (const uint64_t customers : {1, 2, 7, 1'000}) {
      Parameters parameters = Year();
      parameters.rows = 2'000;
      parameters.customers = customers;
      parameters.last_day = parameters.first_day + days - 1;
      const World world(parameters);
      const Mules mules(world, 0);
      const Victims victims(world, mules, 0);
      Draws draws(7);
      for (int i = 0; i < 300; ++i) {
        const Burst burst = victims.Any(0, draws);
        const Person person = world.PersonOf(burst.local);
        ASSERT_LT(burst.from, burst.until);
        ASSERT_GE(burst.from, std::max(world.begin(), person.opened_at));
        ASSERT_LE(burst.until, std::min(world.end(), person.closes_at));
        const int64_t from = draws.Between(world.begin(), world.end() - kHour);
        const auto covering = victims.Covering(from, from + kHour, draws);
        if (!covering) continue;
        ASSERT_LE(covering->from, from);
        ASSERT_GE(covering->until, from + kHour);
      }
    }
  }
}

TEST(Victims, MoreVictimsSpreadTheFrauds) {
  const auto struck = [](uint32_t few, uint32_t others) {
    Parameters parameters = Year();
    parameters.victims.few_thousandths = few;
    parameters.victims.others_thousandths = others;
    const World world(parameters);
    std::vector<bool> customers(world.customers());
    for (const FraudPlan& plan : FraudPlanner(world, Chains(world), 0).Plan()) {
      customers[plan.customer] = true;
    }
    return std::ranges::count(customers, true);
  };
  EXPECT_GT(struck(70, 600), struck(70, 230) + 100);
}

}  // namespace victims_test
}  // namespace reveza::fraudgen::coherent
