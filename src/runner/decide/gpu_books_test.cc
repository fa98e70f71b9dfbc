#include "runner/decide/gpu_books.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

constexpr const char* kOne = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
constexpr const char* kOther = "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff";

nlohmann::json Status() {
  return {{"gpu_budget", nullptr},
          {"gpus",
           {{{"uuid", kOne}, {"total", 1000}, {"budget", 800}, {"credit", 300}, {"external", 50}},
            {{"uuid", kOther}, {"total", 500}, {"budget", 800}, {"credit", 900}},
            {{"uuid", "nonsense"}, {"budget", 1}, {"credit", 1}},
            {{"uuid", kOne}, {"budget", "x"}}}},
          {"clients",
           {{{"pid", 77},
             {"footprint", {{"resident", 1}, {"swapped", 20}, {"pinned", 300}, {"context", 4000}}}},
            {{"pid", 0}, {"footprint", {{"resident", 9}}}},
            "nonsense"}}};
}

TEST(GpuBooksTest, TheBudgetIsWhatThereIsAndWhatWasGivenIsTaken) {
  const GpuBooks books = ReadGpuBooks(Status(), true);
  ASSERT_EQ(books.gpus.size(), 2u);
  EXPECT_EQ(platform::FormatUuid(books.gpus[0].uuid), kOne);
  EXPECT_EQ(books.gpus[0].total, 800u);
  EXPECT_EQ(books.gpus[0].used, 350u);
  EXPECT_EQ(books.gpus[1].total, 500u) << "a card has no more than it has";
  EXPECT_EQ(books.gpus[1].used, 500u);
  EXPECT_EQ(books.clients, (std::map<pid_t, Bytes>{{77, 4321}}));
  EXPECT_TRUE(ReadGpuBooks(Status(), false).clients.empty());
  EXPECT_TRUE(ReadGpuBooks("nonsense", true).gpus.empty());
}

TEST(GpuBooksTest, TheyDecideOfTheGpusThatTheyHave) {
  const auto uuid = *platform::ParseUuid(kOne);
  const std::vector<GpuMemory> seen = {{uuid, 1000, 100}, {platform::Uuid{9}, 1000, 100}};
  GpuBooks books = ReadGpuBooks(Status(), true);
  auto known = WithBooks(seen, books);
  ASSERT_TRUE(known);
  ASSERT_EQ(known->size(), 3u);
  EXPECT_EQ((*known)[0].total, 800u);
  EXPECT_EQ((*known)[0].used, 350u);
  EXPECT_EQ((*known)[1].total, 1000u) << "of this one the daemon knows nothing";
  EXPECT_EQ((*known)[1].used, 100u);
  EXPECT_EQ(platform::FormatUuid((*known)[2].uuid), kOther) << "of this one NVML says nothing";
  books.budget = 600;
  known = WithBooks(seen, books);
  EXPECT_EQ((*known)[1].total, 600u) << "no card is given more of";
  EXPECT_FALSE(WithBooks(std::nullopt, {}));
  EXPECT_EQ(WithBooks(std::nullopt, books)->size(), 2u);
}

}  // namespace
}  // namespace reveza::runner
