#include "reveza/jobs/report/tuning_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace reveza::jobs {
namespace tuning_text_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TunerRow Row(unsigned workers, double rate, double gain, std::optional<Bytes> memory = {}) {
  return {.workers = workers, .rate = rate, .gain = gain, .steps = 100, .memory = memory};
}

TEST(TuningTable, ShowsMeasurements) {
  EXPECT_EQ(TuningTable({}, 1, ""), "");
  const std::vector<TunerRow> rows = {Row(1, 3.04, 0, 512 * kMiB), Row(2, 5.51, 0.81, kGiB),
                                      Row(3, 6.1, 1.007), Row(4, 2.9, -0.046)};
  EXPECT_EQ("\n" + TuningTable(rows, 3, ""), R"(
  workers      steps/s     gain     memory
        1         3.04             512 MiB
        2         5.51    +81 %      1 GiB
>       3          6.1   +101 %          -
        4          2.9     -5 %          -
)");
}

TEST(TuningTable, UsesSameUnitInAllRows) {
  const std::vector<TunerRow> rows = {Row(1, 0.5, 0), Row(2, 1.5, 2)};
  EXPECT_EQ("\n" + TuningTable(rows, 9, ""), R"(
  workers      steps/s     gain     memory
        1          0.5                   -
        2          1.5   +200 %          -
)");
}

TEST(TuningTable, NamesTheLimit) {
  const std::vector<TunerRow> rows = {Row(1, 0.5, 0), Row(2, 1.5, 2)};
  EXPECT_TRUE(
      TuningTable(rows, 2, "cores: 2.0 of 2 busy").ends_with("\nlimit: cores: 2.0 of 2 busy\n"));
}

TEST(TuningTable, SingleRowIsALine) {
  EXPECT_EQ(SingleCountText(Row(2, 3.04, 0), "--max-workers: 2"),
            "only one number of workers was measured: 2 (3 steps/s)\nlimit: --max-workers: 2\n");
}

TEST(TuningLog, ShowsDecisionsWithTimes) {
  const std::vector<Decision> log = {
      {seconds(11), 1, 2, "2 workers: tried"},
      {seconds(75) + milliseconds(300), 2, 2, "2 workers: 5.5 steps/s, 1 gave 3: kept"}};
  EXPECT_EQ("\n" + TuningLog(log, seconds(10)), R"(
         1 s  2 workers: tried
   1 min 5 s  2 workers: 5.5 steps/s, 1 gave 3: kept
)");
  EXPECT_EQ(TuningLog({}, seconds(10)), "");
}

}  // namespace tuning_text_test
}  // namespace reveza::jobs
