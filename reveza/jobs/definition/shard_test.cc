#include "reveza/jobs/definition/shard.h"

#include <gtest/gtest.h>

#include <set>

#include "reveza/jobs/definition/identity.h"

namespace reveza::jobs {
namespace shard_test {

Job Steps(int count) {
  Job job;
  auto& command = job.commands.emplace_back();
  command.arguments = {"./simulate", "{n}"};
  command.folder = "/here";
  for (int n = 1; n <= count; ++n) job.steps.emplace_back().parameters = {{"n", std::to_string(n)}};
  return job;
}

// Returns the numbers of the steps of a shard.
std::set<std::uint32_t> NumbersOf(const Job& job, const Shard& shard) {
  Job part = job;
  auto identities = *ComputeIdentities(job);
  SelectShard(shard, part, identities);
  EXPECT_EQ(part.steps.size(), identities.size());
  std::set<std::uint32_t> numbers;
  for (const Step& step : part.steps) numbers.insert(step.number);
  return numbers;
}

TEST(Shard, ReadsAndNames) {
  EXPECT_EQ(ParseShard("2/8"), (Shard{2, 8}));
  EXPECT_EQ(NameOf(Shard{2, 8}), "shard-2-of-8");
  EXPECT_EQ(ParseShardName("shard-2-of-8"), (Shard{2, 8}));
  for (const char* text : {"", "2", "2/", "/8", "0/8", "9/8", "0/0", "-1/2", "a/b", "1/2/3"}) {
    EXPECT_FALSE(ParseShard(text)) << text;
  }
  for (const char* name : {"shard-2", "shard-02-of-8", "shard-9-of-8", "part-1-of-2"}) {
    EXPECT_FALSE(ParseShardName(name)) << name;
  }
}

TEST(SelectShard, EachStepBelongsToOneShard) {
  const Job job = Steps(1000);
  std::set<std::uint32_t> all;
  for (std::uint32_t index = 1; index <= 7; ++index) {
    const auto numbers = NumbersOf(job, {index, 7});
    EXPECT_GT(numbers.size(), 90u) << "about a seventh";
    for (const auto number : numbers) EXPECT_TRUE(all.insert(number).second) << number;
  }
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_EQ(NumbersOf(job, {1, 1}).size(), 1000u);
}

TEST(SelectShard, DoesNotDependOnOtherSteps) {
  const auto few = NumbersOf(Steps(100), {3, 5});
  auto more = NumbersOf(Steps(200), {3, 5});
  std::erase_if(more, [](std::uint32_t number) { return number > 100; });
  EXPECT_EQ(few, more);
}

TEST(SelectShard, KeepsDependentStepsTogether) {
  Job job = Steps(60);
  for (std::uint32_t step = 2; step < 60; ++step) job.steps[step].after = {step - 2};
  std::set<std::set<std::uint32_t>> parts;
  for (std::uint32_t index = 1; index <= 9; ++index) {
    Job part = job;
    auto identities = *ComputeIdentities(job);
    SelectShard({index, 9}, part, identities);
    for (std::size_t i = 0; i < part.steps.size(); ++i) {
      for (const auto before : part.steps[i].after) {
        ASSERT_LT(before, i);
        EXPECT_EQ(part.steps[before].number + 2, part.steps[i].number);
      }
    }
    EXPECT_TRUE(part.steps.empty() || part.steps.size() % 30 == 0);
  }
}

}  // namespace shard_test
}  // namespace reveza::jobs
