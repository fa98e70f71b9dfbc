// Failures to write standard output are errors; failures to write standard error are ignored.
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace output_test {

class FraudgenOutputTest : public FraudgenTest {
 protected:
  // Runs with redirected standard streams.
  Ran To(const std::string& arguments, const std::string& places) const {
    return platform::Shell("( cd " + place_.path().string() + " && " + FraudgenPath() + " " +
                           arguments + " " + places + " )");
  }
};

TEST_F(FraudgenOutputTest, FullDiskIsAnError) {
  ASSERT_EQ(Fraudgen("--rows 50 --customers 5 --output data --quiet").status, kDone);
  for (const char* arguments :
       {"config", "schema", "version", "--help", "plan --rows 50 --customers 5",
        "sample --rows 50 --customers 5", "check data", "check data --json",
        "--rows 50 --customers 5 --output data --json", "--rows 50 --customers 5 --output -",
        "stream --target stdout --rows 50 --customers 5 --pace max --quiet"}) {
    const Ran ran = To(arguments, ">/dev/full");
    EXPECT_EQ(ran.status, kNoRoom) << arguments << ": " << ran.output;
    EXPECT_EQ(ran.output,
              "fraudgen: cannot write to standard output: No space left on device; make room\n")
        << arguments;
  }
}

TEST_F(FraudgenOutputTest, ClosedOutputIsAnError) {
  const std::string rows = "--rows 50 --customers 5 --output ";
  for (const char* arguments : {"config", "--rows 50 --customers 5 --output -",
                                "stream --target stdout --rows 50 --pace max --quiet"}) {
    const Ran ran = To(arguments, ">&-");
    EXPECT_EQ(ran.status, kOutput) << arguments;
    EXPECT_EQ(ran.output, "fraudgen: standard output is closed\n") << arguments;
  }
  ASSERT_EQ(Fraudgen(rows + "open --quiet").status, kDone);
  EXPECT_EQ(To(rows + "closed", "<&- >&- 2>&-").status, kOutput);
  EXPECT_EQ(Contents("closed"), Contents("open"));
}

TEST_F(FraudgenOutputTest, IgnoresErrorsOfStandardError) {
  const std::string stream = "stream --target stdout --rows 50 --customers 5 --pace max";
  EXPECT_EQ(To(stream, "2>/dev/full"), Fraudgen(stream + " --quiet"));
  EXPECT_EQ(To("--rows none", "2>/dev/full").status, kUsage);
}

}  // namespace output_test
}  // namespace reveza::fraudgen::cli
