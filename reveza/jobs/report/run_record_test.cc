#include "reveza/jobs/report/run_record.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace run_record_test {

TEST(RunRecord, SurvivesTheJournal) {
  for (const auto end : {RunEnd::kDone, RunEnd::kFailed, RunEnd::kHeld, RunEnd::kHalted,
                         RunEnd::kGoalMet, RunEnd::kInterrupted}) {
    const RunRecord record{.began = 1'790'000'000'000'000'001,
                           .ended = 1'790'000'100'000'000'000,
                           .end = end,
                           .reason = "\"why\"\n\xff",
                           .skipped = 3,
                           .waiting = 5};
    const auto parsed = ParseRunRecord(FormatRunRecord(record));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->began, record.began);
    EXPECT_EQ(parsed->ended, record.ended);
    EXPECT_EQ(parsed->end, end);
    EXPECT_EQ(parsed->skipped, 3u);
    EXPECT_EQ(parsed->waiting, 5u);
  }
  const RunRecord running{.began = 7};
  EXPECT_EQ(ParseRunRecord(FormatRunRecord(running)), running);
}

TEST(RunRecord, IgnoresWhatItDoesNotKnow) {
  for (const char* text : {"", "{", "[]", "7", "{\"ended\": 1}", "{\"began\": \"x\"}",
                           "{\"began\": 1, \"end\": \"?\"}"}) {
    EXPECT_FALSE(ParseRunRecord(text)) << text;
  }
  EXPECT_TRUE(ParseRunRecord("{\"began\": 1, \"more\": []}"));
}

}  // namespace run_record_test
}  // namespace reveza::jobs
