#include "runner/report/joblog.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reveza::runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

TEST(Joblog, HasTheColumnsOfGnuParallel) {
  EXPECT_EQ(JoblogHeader(),
            "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n");
  EXPECT_EQ(JoblogLine({.number = 7,
                        .start = system_clock::time_point(milliseconds(1700000000123)),
                        .duration = milliseconds(1532),
                        .received = 12,
                        .exit_status = 3,
                        .command = "./simulate --seed 7"}),
            "7\t:\t1700000000.123\t     1.532\t0\t12\t3\t0\t./simulate --seed 7\n");
}

TEST(Joblog, IsOneLineWhateverTheCommandHolds) {
  const std::string line = JoblogLine({.signal = 9, .command = "a\tb\nc\rd\x7f é"});
  EXPECT_TRUE(line.ends_with("\t9\ta\\tb\\nc\\x0dd\\x7f é\n")) << line;
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_EQ(std::ranges::count(line, '\t'), 8);
}

}  // namespace
}  // namespace reveza::runner
