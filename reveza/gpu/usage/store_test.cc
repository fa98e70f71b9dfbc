#include "reveza/gpu/usage/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/platform/testing_directory.h"
#include "reveza/gpu/usage/recorder.h"

namespace reveza::usage {
namespace store_test {

namespace fs = std::filesystem;
using std::chrono::hours;

Hour Now() { return std::chrono::floor<hours>(std::chrono::system_clock::now()); }

Usage Used(std::uint64_t job, std::int64_t gpu_time, const char* name = "train") {
  Usage usage{.job = job, .user = 1000, .name = name, .counters = {}};
  usage.counters[Counter::kGpuTime] = gpu_time;
  usage.counters[Counter::kPaused] = 5;
  usage.counters[Counter::kTurn] = 2;
  return usage;
}

class UsageTest : public testing::Test {
 protected:
  std::vector<JobUsage> Since(Hour since) {
    auto store = Store::OpenToRead(File());
    EXPECT_TRUE(store.has_value());
    if (!store) return {};
    auto found = store->Since(since);
    EXPECT_TRUE(found.has_value());
    return found.value_or(std::vector<JobUsage>{});
  }
  fs::path File() const { return folder_.path() / "state" / "usage.db"; }

  platform::TestingDirectory folder_;
};

TEST_F(UsageTest, SumsByJobFromAnHourOn) {
  auto store = Store::Open(File());
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Hour now = Now();
  ASSERT_TRUE(store->Add(std::vector<HourlyUsage>{{now - hours(3), Used(1, 10)},
                                                  {now - hours(1), Used(1, 20)},
                                                  {now, Used(0xfedcba9876543210, 25, "bia")}}));
  ASSERT_TRUE(store->Add(std::vector<HourlyUsage>{{now, Used(1, 30)}}));
  const auto all = Since(now - hours(10));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].usage.job, 1u);
  EXPECT_EQ(all[0].usage.counters[Counter::kGpuTime], 60);
  EXPECT_EQ(all[0].usage.counters[Counter::kTurn], 6);
  EXPECT_EQ(all[0].usage.counters.Waited(), 6);
  EXPECT_EQ(all[0].first, now - hours(3));
  EXPECT_EQ(all[0].last, now);
  EXPECT_EQ(all[1].usage.job, 0xfedcba9876543210);
  EXPECT_EQ(all[1].usage.name, "bia");
  EXPECT_EQ(all[1].usage.user, 1000u);
  const auto late = Since(now - hours(1));
  ASSERT_EQ(late.size(), 2u);
  EXPECT_EQ(late[0].usage.counters[Counter::kGpuTime], 50);
  EXPECT_TRUE(Since(now + hours(1)).empty());
}

TEST_F(UsageTest, SeveralDaemonsAddToOneFile) {
  auto one = Store::Open(File());
  auto other = Store::Open(File());
  ASSERT_TRUE(one.has_value() && other.has_value());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(one->Add(std::vector<HourlyUsage>{{Now(), Used(1, 1)}}));
    ASSERT_TRUE(other->Add(std::vector<HourlyUsage>{{Now(), Used(1, 1)}}));
  }
  EXPECT_EQ(Since(Now() - hours(1)).at(0).usage.counters[Counter::kGpuTime], 40);
}

TEST_F(UsageTest, OldRowsAreDeleted) {
  const Hour old = std::chrono::floor<hours>(Now() - Store::kRetention) - hours(1);
  {
    auto store = Store::Open(File());
    ASSERT_TRUE(store->Add(std::vector<HourlyUsage>{{old, Used(1, 1)}, {Now(), Used(2, 1)}}));
  }
  EXPECT_EQ(Since(old).size(), 2u);
  ASSERT_TRUE(Store::Open(File()));
  EXPECT_EQ(Since(old).size(), 1u);
}

TEST_F(UsageTest, OthersMayNotRead) {
  ASSERT_TRUE(Store::Open(File()));
  EXPECT_EQ(fs::status(File()).permissions() & fs::perms::others_all, fs::perms::none);
}

TEST_F(UsageTest, FilesOfOtherKindsAreRefused) {
  EXPECT_EQ(Store::OpenToRead(File()).error().code, Error::Code::kNotFound);
  {
    auto store = Store::Open(File());
    auto database = sqlite::Database::Open(File());
    ASSERT_TRUE(database->Execute("PRAGMA user_version = 99"));
  }
  EXPECT_EQ(Store::Open(File()).error().code, Error::Code::kIncompatible);
  EXPECT_NE(Store::OpenToRead(File()).error().message.find("newer version"), std::string::npos);
  std::ofstream(File()) << "no database, but long enough to look like the header of one";
  EXPECT_EQ(Store::Open(File()).error().code, Error::Code::kIncompatible);
  const fs::path below = folder_.path() / "file" / "usage.db";
  std::ofstream(below.parent_path()) << "x";
  EXPECT_EQ(Store::Open(below).error().code, Error::Code::kPermission);
}

TEST_F(UsageTest, TheRecorderWritesAllBeforeItEnds) {
  {
    Recorder recorder(File(), MakeNullLogger());
    for (int i = 0; i < 1000; ++i) recorder.Add(Used(1 + i % 3, 1));
  }
  std::int64_t sum = 0;
  for (const auto& job : Since(Now() - hours(1))) sum += job.usage.counters[Counter::kGpuTime];
  EXPECT_EQ(sum, 1000);
}

TEST_F(UsageTest, WhatCannotBeWrittenIsKept) {
  std::ofstream(folder_.path() / "state") << "in the way";
  {
    Recorder recorder(File(), MakeNullLogger());
    recorder.Add(Used(1, 1));
    while (recorder.failures() == 0) std::this_thread::yield();
    fs::remove(folder_.path() / "state");
    recorder.Add(Used(1, 1));
  }
  EXPECT_EQ(Since(Now() - hours(1)).at(0).usage.counters[Counter::kGpuTime], 2);
}

TEST_F(UsageTest, TheDefaultFileIsInTheStateFolder) {
  const auto file = DefaultFile([](const char* name) -> std::optional<std::string> {
    if (name == std::string("XDG_STATE_HOME")) return "/state";
    return std::nullopt;
  });
  EXPECT_EQ(file.value(), "/state/reveza/usage.db");
  EXPECT_FALSE(DefaultFile([](const char*) { return std::nullopt; }));
}

}  // namespace store_test
}  // namespace reveza::usage
