// Output of `phi`: write errors are reported, and exceptions become exit statuses.
#include <fmt/format.h>

#include <string>

#include "phi/cli/testing_phi.h"

namespace reveza::phi {
namespace output_test {

class PhiOutputTest : public PhiTest {
 protected:
  // Runs phi with standard output redirected; returns standard error.
  platform::Ran To(const std::string& arguments, const std::string& output) const {
    return platform::Shell("( cd " + place_.path().string() + " && " + PhiPath() + " " + arguments +
                           " " + output + " )");
  }
  std::string Data() const {
    std::string text = "a,b\n";
    for (int i = 0; i < 40; ++i) text += fmt::format("{},{}\n", i * i % 17, i * i * i % 23);
    return text;
  }
};

TEST_F(PhiOutputTest, FullStdoutFailsWithENOSPC) {
  Write("data.csv", Data());
  for (const char* arguments :
       {"measure data.csv", "measure data.csv --json", "theory --coupling '.5,.1;.1,.5'",
        "run --cycles 3 -d 8", "run --cycles 3 -d 8 --json", "run --cycles 3 -d 8 -q -o -",
        "iit --network xor --state 0,0,0", "version", "--help"}) {
    const auto ran = To(arguments, ">/dev/full");
    EXPECT_EQ(ran.status, kNoRoom) << arguments << ": " << ran.output;
    EXPECT_EQ(ran.output,
              "phi: cannot write to standard output: No space left on device; make room\n")
        << arguments;
  }
}

TEST_F(PhiOutputTest, ClosedStdoutFailsAndIsNotReused) {
  const auto theory = To("theory --coupling '.5,.1;.1,.5'", ">&-");
  EXPECT_EQ(theory.status, kOutput);
  EXPECT_EQ(theory.output, "phi: standard output is closed\n");
  // With -q nothing is printed, and saved results are complete.
  EXPECT_EQ(To("run --cycles 3 -d 8 -q -o quiet", ">&-").status, kDone);
  EXPECT_EQ(To("run --cycles 3 -d 8 -o said", ">&-").status, kOutput);
  EXPECT_EQ(platform::Shell("cd " + place_.path().string() +
                            " && cmp quiet/rows.csv said/rows.csv && cat quiet/lock said/lock"),
            (platform::Ran{0, ""}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The address space suffices for some of the stacks only; the team must not wait for threads that
// could not start.
TEST_F(PhiOutputTest, RunsWithFewerThreadsThanRequested) {
  const std::string arguments = "run --cycles 20 -d 64 -r 2 -q -o - --threads ";
  const auto one = Phi(arguments + "1");
  ASSERT_EQ(one.status, kDone);
  const auto few = platform::Shell("( ulimit -s 8192; ulimit -v 250000; timeout -s KILL 60 " +
                                   std::string(PhiPath()) + " " + arguments + "60 )");
  EXPECT_EQ(few, one);
}

// The determinants of all subsets would take 512 MiB.
TEST_F(PhiOutputTest, ExhaustiveSearchesKeepNoTables) {
  std::string rows;
  for (int i = 0; i < 24; ++i) {
    rows += i > 0 ? ";" : "";
    for (int j = 0; j < 24; ++j) rows += fmt::format("{}{}", j > 0 ? "," : "", i == j ? 0.5 : 0.0);
  }
  const auto ran = platform::Shell("( ulimit -v 400000; " + std::string(PhiPath()) +
                                   " theory --coupling '" + rows + "' --mip exhaustive -m phi_r )");
  EXPECT_EQ(ran.status, kDone) << ran.output;
}

// An allocation that no check anticipates.
TEST_F(PhiOutputTest, ReportsBadAlloc) {
  const auto ran = platform::Shell("( ulimit -v 400000; " + std::string(PhiPath()) +
                                   " bench -d 8192 --rounds 1 --seconds 0.01 )");
  EXPECT_EQ(ran.status, kNoRoom) << ran.output;
  EXPECT_TRUE(ran.output.starts_with("phi: not enough memory")) << ran.output;
}
#endif

}  // namespace output_test
}  // namespace reveza::phi
