#include "reveza/cli/reveza/usage_text.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

namespace reveza::cli {
namespace usage_text_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::sys_seconds;
using usage::Counter;

// Wednesday, 25 November 2026, 10:30 in UTC.
constexpr sys_seconds kNow{std::chrono::seconds(1'795'602'600)};
constexpr sys_seconds kMidnight = kNow - hours(10) - minutes(30);

class Since : public testing::Test {
 protected:
  Since() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static std::optional<sys_seconds> Parse(const char* text) {
    const auto since = ParseSince(text, kNow);
    return since ? std::optional(*since) : std::nullopt;
  }
};

TEST_F(Since, ParsesDaysDatesAndDurations) {
  EXPECT_EQ(Parse("today"), kMidnight);
  EXPECT_EQ(Parse("Yesterday"), kMidnight - hours(24));
  EXPECT_EQ(Parse("wednesday"), kMidnight);
  EXPECT_EQ(Parse("Monday"), kMidnight - hours(48));
  EXPECT_EQ(Parse("thursday"), kMidnight - hours(6 * 24));
  EXPECT_EQ(Parse("2026-11-20"), kMidnight - hours(5 * 24));
  EXPECT_EQ(Parse("2026-11-20T14:30"), kMidnight - hours(5 * 24) + hours(14) + minutes(30));
  EXPECT_EQ(Parse("12h"), kNow - hours(12));
  EXPECT_EQ(Parse("30d"), kNow - hours(30 * 24));
  EXPECT_EQ(Parse("1 day"), kNow - hours(24));
}

TEST_F(Since, RefusesOthers) {
  for (const char* text : {"", "mon", "2026-13-40x", "-1d", "d", "12", "tomorrow"}) {
    EXPECT_EQ(Parse(text), std::nullopt) << text;
  }
  EXPECT_NE(ParseSince("tomorrow", kNow).error().message.find("yesterday"), std::string::npos);
}

usage::JobUsage Used(std::uint64_t job, uid_t user, const char* name, std::int64_t seconds) {
  usage::JobUsage used{.usage = {.job = job, .user = user, .name = name, .counters = {}},
                       .first = usage::Hour(hours(498'000)),
                       .last = usage::Hour(hours(498'001))};
  used.usage.counters[Counter::kGpuTime] = seconds * 1'000'000'000;
  used.usage.counters[Counter::kTurns] = 3;
  used.usage.counters[Counter::kQueue] = 2'000'000'000;
  used.usage.counters[Counter::kTurn] = 1'000'000'000;
  used.usage.counters[Counter::kPaused] = 9'000'000'000;
  return used;
}

TEST(UsageText, SumsByUser) {
  const std::vector<usage::JobUsage> jobs = {Used(1, 7, "a", 5), Used(2, 8, "b", 8),
                                             Used(3, 7, "c", 4)};
  const auto rows = SumByUser(jobs);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].jobs, 2u);
  EXPECT_EQ(rows[0].usage.usage.user, 7u);
  EXPECT_EQ(rows[0].usage.usage.counters[Counter::kGpuTime], 9'000'000'000);
  EXPECT_EQ(rows[1].jobs, 1u);
  EXPECT_EQ(UsageJson(rows, true)[0]["jobs"], 2);
}

TEST(UsageText, SaysTimesAndTheLongestWait) {
  const std::vector<UsageRow> rows = {{.usage = Used(1, getuid(), "train", 60)}};
  const std::string text = UsageText(rows, false);
  EXPECT_NE(text.find("train"), std::string::npos);
  EXPECT_NE(text.find("the queue"), std::string::npos);
  const auto json = UsageJson(rows, false);
  EXPECT_EQ(json[0]["job"], "0000000000000001");
  EXPECT_EQ(json[0]["gpu_s"], 60.0);
  EXPECT_EQ(json[0]["wait_queue_s"], 2.0);
  EXPECT_EQ(json[0]["turns"], 3);
  EXPECT_EQ(json[0]["first_hour"], "2026-10-24T00:00:00Z");
  EXPECT_EQ(UsageJson({}, false).dump(), "[]");
}

TEST(UsageText, CsvQuotes) {
  const std::vector<UsageRow> rows = {{.usage = Used(1, getuid(), "a \"b\", c", 1)}};
  const std::string csv = UsageCsv(rows, false);
  EXPECT_TRUE(csv.starts_with("job,name,user,uid,first_hour,last_hour,gpu_s,turns,bytes_out,"));
  EXPECT_NE(csv.find("\r\n0000000000000001,\"a \"\"b\"\", c\","), std::string::npos) << csv;
  EXPECT_EQ(UsageCsv({}, false).find('\n'), std::string::npos);
}

}  // namespace usage_text_test
}  // namespace reveza::cli
