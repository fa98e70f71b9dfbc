#include "reveza/jobs/journal/step_listing.h"

#include <gtest/gtest.h>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace step_listing_test {

using Pairs = ParameterPairs;

Job MakeJob(std::vector<std::string> programs) {
  Job job;
  for (std::string& program : programs) {
    job.commands.emplace_back().arguments = {std::move(program)};
  }
  return job;
}

void AddStep(Job& job, std::uint32_t command, const std::vector<Parameter>& parameters) {
  Step& step = job.steps.emplace_back();
  step.command = command;
  step.parameters = parameters;
}

Identity Id(std::uint8_t number) { return Identity{number}; }

class StepListingTest : public testing::Test {
 protected:
  StepListingTest() : journal_(*Journal::Open(folder_ / "journal.db")) {}

  // Lists the steps of a job, with identities 1, 2, ...
  void List(const Job& job) {
    std::vector<ListedStep> steps;
    for (std::size_t i = 0; i < job.steps.size(); ++i) {
      steps.push_back({Id(static_cast<std::uint8_t>(i + 1)), LabelOf(job, i)});
    }
    EXPECT_TRUE(journal_.SetList(steps));
    EXPECT_TRUE(StepListing::Of(job).WriteTo(journal_));
  }
  StepListing Read(std::size_t steps) {
    auto read = StepListing::Read(journal_, steps);
    EXPECT_TRUE(read && *read);
    return read && *read ? **std::move(read) : StepListing();
  }

  platform::TestingDirectory folder_;
  Journal journal_;
};

TEST_F(StepListingTest, TellsParametersWhateverTheirValues) {
  const std::vector<Pairs> all = {{{"a", "1"}, {"b", "2"}},
                                  {{"a", "1 b=3"}, {"b", "2"}},
                                  {{"a", "x"}, {"b", " b= y=1 a=2"}},
                                  {{"a", ""}, {"b", "\xff z=1"}}};
  Job job = MakeJob({"run"});
  for (const Pairs& pairs : all) {
    AddStep(job, 0, {{pairs[0].first, pairs[0].second}, {pairs[1].first, pairs[1].second}});
  }
  List(job);
  const StepListing listing = Read(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(listing.ParametersOf(i, LabelOf(job, i)), all[i]) << i;
  }
  EXPECT_FALSE(listing.HasSeveralCommands());
}

TEST_F(StepListingTest, NumbersCommandsThatDiffer) {
  Job job = MakeJob({"prepare", "train", "prepare"});
  AddStep(job, 1, {{"seed", "1"}});
  AddStep(job, 1, {{"seed", "2"}});
  AddStep(job, 0, {});
  AddStep(job, 2, {{"part", "a=1 b=2"}});
  List(job);
  const StepListing listing = Read(4);
  EXPECT_TRUE(listing.HasSeveralCommands());
  const std::uint32_t numbers[] = {1, 1, 2, 2};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(listing.CommandOf(i), numbers[i]) << i;
  EXPECT_EQ(listing.ParametersOf(2, "3"), Pairs());
  EXPECT_EQ(listing.ParametersOf(3, LabelOf(job, 3)), (Pairs{{"part", "a=1 b=2"}}));
}

TEST_F(StepListingTest, GrowsByAppendedSteps) {
  Job job = MakeJob({"run"});
  AddStep(job, 0, {{"n", "1"}});
  List(job);
  Job more = MakeJob({"run", "other"});
  AddStep(more, 0, {{"n", "1"}});
  AddStep(more, 0, {{"n", "2 m=3"}});
  AddStep(more, 1, {{"m", "4"}});
  const std::vector<Identity> identities = {Id(1), Id(2), Id(3)};
  ASSERT_TRUE(journal_.Append({{Id(1), "n=1"}, {Id(2), "n=2 m=3"}, {Id(3), "m=4"}}));
  EXPECT_TRUE(ExtendListing(journal_, more, identities, 1));
  const StepListing listing = Read(3);
  EXPECT_EQ(listing.ParametersOf(1, "n=2 m=3"), (Pairs{{"n", "2 m=3"}}));
  EXPECT_EQ(listing.CommandOf(1), 1u);
  EXPECT_EQ(listing.CommandOf(2), 2u);
}

TEST_F(StepListingTest, ThatOfAnotherListIsNone) {
  EXPECT_FALSE(StepListing::Read(journal_, 1).value());
  Job job = MakeJob({"run"});
  AddStep(job, 0, {});
  List(job);
  EXPECT_TRUE(StepListing::Read(journal_, 1).value());
  EXPECT_FALSE(StepListing::Read(journal_, 2).value());
  EXPECT_TRUE(journal_.Set("listing", "{}"));
  EXPECT_FALSE(StepListing::Read(journal_, 1).value());
}

}  // namespace step_listing_test
}  // namespace reveza::jobs
