#include "reveza/jobs/engine/step_list.h"

#include <gtest/gtest.h>

#include <random>

namespace reveza::jobs {
namespace step_list_test {

StepEntry Entry(std::int64_t id, std::mt19937& random) {
  StepEntry entry;
  entry.id = id;
  for (auto& byte : entry.identity) byte = static_cast<std::uint8_t>(random());
  entry.files = FilesOfId(id);
  return entry;
}

TEST(StepList, FindsStepsOfAnyOrder) {
  std::mt19937 random(7);
  std::vector<StepEntry> entries;
  for (int id = 1; id <= 1000; ++id) entries.push_back(Entry(id, random));
  StepList list;
  EXPECT_FALSE(list.Find(Identity{}));
  for (int i = 0; i < 500; ++i) list.Add(entries[i]);
  EXPECT_EQ(list.Find(entries[499].identity), 499u);
  EXPECT_FALSE(list.Find(entries[500].identity)) << "not listed yet";
  for (int i = 500; i < 1000; ++i) list.Add(entries[i]);
  for (std::uint32_t step = 0; step < entries.size(); ++step) {
    EXPECT_EQ(list.Find(entries[step].identity), step);
  }
  EXPECT_FALSE(list.Find(Identity{}));
  list.Truncate(10);
  EXPECT_FALSE(list.Find(entries[10].identity));
  EXPECT_EQ(list.Find(entries[9].identity), 9u);
}

TEST(StepList, KeepsOnlyPathsThatDoNotFollowFromTheId) {
  std::mt19937 random(7);
  StepList list;
  list.Add(Entry(57, random));
  StepEntry elsewhere = Entry(1058, random);
  elsewhere.files = "/shared/000/3";
  list.Add(elsewhere);
  EXPECT_EQ(list.FilesOf(0), "000/57");
  EXPECT_EQ(list.FilesOf(1), "/shared/000/3");
  elsewhere.files = FilesOfId(elsewhere.id);
  list.Set(1, elsewhere);
  EXPECT_EQ(list.FilesOf(1), "001/1058");
}

TEST(StepList, NewStepsHaveTheIdsFromOneOn) {
  const std::vector<Identity> identities = {{1}, {2}};
  const StepList list(identities);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].id, 2);
  EXPECT_EQ(list[1].identity, identities[1]);
  EXPECT_EQ(list[1].state, StepState::kWaiting);
  EXPECT_EQ(list.FilesOf(1), "000/2");
}

TEST(StepList, TakesThirtyTwoBytesAStep) { EXPECT_LE(sizeof(StepStatus), 32u); }

}  // namespace step_list_test
}  // namespace reveza::jobs
