#include "fraudgen/model/coherent/world.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/profiles.h"
#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/identity.h"

namespace reveza::fraudgen::coherent {
namespace world_test {

Parameters Small(uint64_t rows, uint64_t customers, uint64_t rows_per_block) {
  Parameters parameters;
  parameters.rows = rows;
  parameters.customers = customers;
  parameters.rows_per_block = rows_per_block;
  return parameters;
}

TEST(CoherentWorld, BlocksAddUpAndAreBalanced) {
  for (const auto& [rows, customers, per_block] :
       {std::tuple{10'007u, 1'003u, 1'000u}, {5u, 3u, 1u}, {0u, 7u, 10u}, {999u, 1u, 10u}}) {
    const World world(Small(rows, customers, per_block));
    uint64_t sum_rows = 0;
    uint64_t sum_frauds = 0;
    for (uint64_t block = 0; block < world.blocks(); ++block) {
      EXPECT_EQ(world.FirstRow(block), sum_rows);
      sum_rows += world.Rows(block);
      sum_frauds += world.Frauds(block);
      EXPECT_LE(world.Rows(block), world.Rows(0) + 1);
      EXPECT_GE(world.Rows(block) + 1, world.Rows(0));
    }
    EXPECT_EQ(sum_rows, rows);
    EXPECT_EQ(sum_frauds, world.total_frauds());
    EXPECT_EQ(world.FirstCustomer(world.blocks()), customers);
  }
}

TEST(CoherentWorld, NumberOfCustomersFollowsFromTheRows) {
  EXPECT_EQ(World(Small(1'000, 0, 1'000)).customers(), 1'000u);
  const World large(Small(100'000'000, 0, 2'000'000));
  // 366 days of 66 payments a month.
  EXPECT_NEAR(static_cast<double>(large.customers()), 124'193, 10);
  EXPECT_EQ(large.blocks(), 50u);
}

TEST(CoherentWorld, PeopleAreConsistent) {
  const World world(Small(100'000, 2'000, 100'000));
  std::array<int, kProfiles> profiles{};
  int joining = 0;
  for (uint64_t number = 0; number < 2'000; ++number) {
    const Person person = world.PersonOf(number);
    ++profiles[static_cast<std::size_t>(person.profile)];
    EXPECT_EQ(lists::kCities[person.city].state, lists::kStates[person.state].code);
    EXPECT_LT(DistanceBetween(person.home, world.PlaceOfCity(person.city)), 2'000);
    const lists::Profile& profile = lists::Profiles()[static_cast<std::size_t>(person.profile)];
    const int64_t age = (world.parameters().last_day + 1 - person.birth_day) * 100 / 36'525;
    EXPECT_GE(age, profile.age.min);
    EXPECT_LE(age, profile.age.max);
    EXPECT_GE(person.income, 75'000);
    EXPECT_GE(person.credit_limit, person.income * 2);
    EXPECT_LT(person.opened_at, world.end());
    joining += person.opened_at >= world.begin() ? 1 : 0;
  }
  // A quarter is young, within four standard deviations; about one in ten joins.
  EXPECT_NEAR(profiles[0], 500, 78);
  EXPECT_NEAR(joining, 204, 60);
}

TEST(CoherentWorld, PeopleKeepTheirGoldenValues) {
  const World world(Small(100'000, 2'000, 100'000));
  const Identity identity(world);
  const Owner owner = identity.OwnerOf(world.PersonOf(7), world.begin());
  std::array<char, 5 * Identity::kMaxText> text{};
  char* end = identity.customers.Put(text.data(), 7);
  for (const auto put :
       {&Identity::PutName, &Identity::PutCpf, &Identity::PutEmail, &Identity::PutPhone}) {
    *end++ = ' ';
    end = (identity.*put)(end, owner);
  }
  EXPECT_EQ(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())),
            "CUST_947442198396 Manoel Santos Muniz 381.346.309-52 "
            "manoel.muniz73479833@example.net +5541948035181");
}

TEST(CoherentWorld, HouseholdsShareSurnameAndAddress) {
  Parameters parameters = Small(100'000, 8'002, 100'000);
  const World world(parameters);
  const Identity identity(world);
  const auto last_name = [&](uint64_t number) {
    std::array<char, Identity::kMaxText> text{};
    char* const end =
        identity.PutName(text.data(), identity.OwnerOf(world.PersonOf(number), world.begin()));
    const std::string_view name(text.data(), static_cast<std::size_t>(end - text.data()));
    return std::string(name.substr(name.rfind(' ') + 1));
  };
  int sharing = 0;
  for (uint64_t number = 0; number < 8'002; ++number) {
    const Person person = world.PersonOf(number);
    const uint64_t head = world.HeadOfHousehold(number);
    ASSERT_EQ(world.HeadOfHousehold(head), head);
    if (head == number) {
      ASSERT_EQ(person.home_key, person.key);
      continue;
    }
    sharing += world.HeadOfHousehold(number - 1) == number - 1 ? 2 : 1;
    const Person other = world.PersonOf(head);
    EXPECT_EQ(person.home_key, other.key);
    EXPECT_EQ(person.home, other.home);
    EXPECT_EQ(person.city, other.city);
    EXPECT_EQ(person.state, other.state);
    EXPECT_NE(person.key, other.key);
    EXPECT_EQ(last_name(number), last_name(head));
  }
  // 4 %, within four standard deviations for households of three.
  EXPECT_NEAR(sharing, 320, 130);
  parameters.lookalikes.shared_device = 0;
  const World alone(parameters);
  for (uint64_t number = 0; number < 8'002; ++number) {
    ASSERT_EQ(alone.HeadOfHousehold(number), number);
  }
}

TEST(CoherentWorld, BriefPersonMatchesPerson) {
  const World world(Small(100'000, 2'000, 100'000));
  for (uint64_t number = 0; number < 2'000; ++number) {
    const Person person = world.PersonOf(number);
    const Person brief = world.BriefPersonOf(number);
    ASSERT_EQ(brief.key, person.key);
    ASSERT_EQ(brief.home_key, person.home_key);
    ASSERT_EQ(brief.profile, person.profile);
    ASSERT_EQ(brief.state, person.state);
    ASSERT_EQ(brief.city, person.city);
    ASSERT_EQ(brief.bank, person.bank) << "BriefPersonOf skips a wrong number of draws";
  }
}

TEST(CoherentWorld, AccountRangesAreDisjoint) {
  const World world(Small(100'000'000'000, 0, 2'000'000));
  std::set<AccountNumber> seen;
  const uint64_t last_block = world.blocks() - 1;
  for (const AccountNumber account :
       {world.customers() - 1, world.OutsiderAccount(0, 0),
        world.OutsiderAccount(world.customers() / World::kTown, World::kOutsiders - 1),
        world.PopularAccount(0, 0), world.PopularAccount(World::kCountry, 65'535),
        world.StrangerAccount(0), world.StrangerAccount(99'999'999'999), world.MerchantAccount(0),
        world.MerchantAccount(MerchantOf(255, 31, 1'023)), world.FraudsterAccount(0, 0),
        world.FraudsterAccount(last_block, World::kFraudstersPerBlock - 1)}) {
    EXPECT_TRUE(seen.insert(account).second);
    EXPECT_EQ(*seen.rbegin(), account) << "kinds are in order, so their ranges are disjoint";
    EXPECT_LT(account, 1'000'000'000'000'000u) << "has 15 digits";
  }
  EXPECT_LT(world.FraudsterDevice(last_block, World::kFraudstersPerBlock - 1),
            1'000'000'000'000'000u);
}

TEST(CoherentWorld, MonthsCoverTheDays) {
  Parameters parameters = Small(100, 10, 100);
  parameters.first_day = DaysOf({2024, 1, 20});
  parameters.last_day = DaysOf({2024, 3, 1});
  const World world(parameters);
  const std::vector<Slice> slices = SlicesOf(world);
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[0].days, 12);
  EXPECT_EQ(slices[1].days, 29);
  EXPECT_EQ(slices[2].days, 1);
  EXPECT_EQ(slices[0].begin(), world.begin());
  EXPECT_EQ(slices[2].end(), world.end());
}

TEST(CoherentWorld, PaymentTimesLieInTheMonthAndAfterOpening) {
  const World world(Small(100'000, 500, 100'000));
  Draws draws(1);
  for (const Slice& slice : SlicesOf(world)) {
    const PaymentTimes times(world, slice);
    for (uint64_t number = 0; number < 500; ++number) {
      const Person person = world.PersonOf(number);
      if (Activity(person, slice) == 0) {
        EXPECT_TRUE(person.opened_at >= slice.end() || person.closes_at <= slice.begin());
        continue;
      }
      const int64_t time = times.Of(person, 50'000, draws);
      EXPECT_GE(time, std::max(slice.begin(), person.opened_at));
      EXPECT_LT(time, std::min(slice.end(), person.closes_at));
    }
  }
}

}  // namespace world_test
}  // namespace reveza::fraudgen::coherent
