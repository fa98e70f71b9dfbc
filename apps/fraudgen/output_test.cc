// What `fraudgen` prints arrives, or it says that it did not; that nobody hears it ends nothing.
#include "testing_fraudgen.h"

namespace reveza::fraudgen {
namespace {

class FraudgenOutputTest : public FraudgenTest {
 protected:
  // With other standard places; standard error is what is given back where it stays.
  Ran To(const std::string& arguments, const std::string& places) const {
    return platform::Shell("( cd " + place_.path().string() + " && " + FraudgenPath() + " " +
                           arguments + " " + places + " )");
  }
};

TEST_F(FraudgenOutputTest, AFullDiskIsNoSuccess) {
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

TEST_F(FraudgenOutputTest, AClosedOutputIsNoSuccessAndTakesNoFile) {
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

TEST_F(FraudgenOutputTest, WhoCannotBeToldStillGetsTheData) {
  const std::string stream = "stream --target stdout --rows 50 --customers 5 --pace max";
  EXPECT_EQ(To(stream, "2>/dev/full"), Fraudgen(stream + " --quiet"));
  EXPECT_EQ(To("--rows none", "2>/dev/full").status, kUsage);
}

}  // namespace
}  // namespace reveza::fraudgen
