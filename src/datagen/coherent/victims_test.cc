#include "datagen/coherent/victims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "datagen/coherent/frauds.h"

namespace reveza::datagen::coherent {
namespace {

// A million payments of a year, 2 % of them frauds: one block.
Parameters Year() {
  Parameters parameters;
  parameters.rows = 1'000'000;
  return parameters;
}

TEST(Victims, ATenthOfTheCustomersBearsMostFrauds) {
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

// Who was robbed long ago is not robbed again: else a customer's number would tell.
TEST(Victims, AnAccountIsCompromisedForWeeksOnly) {
  const World world(Year());
  const Chains chains(world);
  const Mules mules(world, 0);
  std::map<uint32_t, std::pair<int64_t, int64_t>> times;
  for (const FraudPlan& plan : FraudPlanner(world, chains, 0).Plan()) {
    if (mules.Has(plan.customer)) continue;
    auto& [first, last] =
        times.emplace(plan.customer, std::pair(plan.time, plan.time)).first->second;
    first = std::min(first, plan.time);
    last = std::max(last, plan.time);
  }
  ASSERT_GT(times.size(), 200u);
  // Somebody's careful thief takes a few days more; one in a hundred is struck by a second one.
  const int64_t most = (int64_t{world.parameters().victims.most_days} + 10) * kDay;
  const auto longer = std::ranges::count_if(times, [most](const auto& of_customer) {
    return of_customer.second.second - of_customer.second.first > most;
  });
  EXPECT_LT(static_cast<std::size_t>(longer) * 25, times.size());
}

TEST(Victims, ABurstIsWithinTheAccountAndTheData) {
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

TEST(Victims, WithMoreAccountsFraudsAreSpreadMore) {
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

}  // namespace
}  // namespace reveza::datagen::coherent
