// Tests of `fraudgen report` as a program.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace report_test {

using platform::Ran;

TEST_F(FraudgenTest, ReportWritesPage) {
  ASSERT_EQ(Fraudgen("--rows 3000 --quiet --output data").status, kDone);
  const Ran ran = Fraudgen("report data");
  if (ran.output.contains("chart library")) {
    EXPECT_EQ(ran.status, kFailed);
    EXPECT_NE(ran.output.find("run tools/setup.sh"), std::string::npos);
    GTEST_SKIP() << ran.output;
  }
  EXPECT_EQ(ran.status, kDone) << ran.output;
  EXPECT_TRUE(ran.output.starts_with("wrote report.html (")) << ran.output;
  const std::string page = Contents(".").at("report.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find("\"rows\":3000"), std::string::npos);
  EXPECT_NE(page.find("{\"language\":\"en\",\"name\":\"data\""), std::string::npos);

  EXPECT_EQ(Fraudgen("report data -o pt.html --language pt --quiet").output, "");
  EXPECT_NE(Contents(".").at("pt.html").find("{\"language\":\"pt\""), std::string::npos);
  EXPECT_EQ(Fraudgen("report data -o - ").output, page);
  EXPECT_EQ(Fraudgen("check --quiet data").output, "") << "reports do not modify data";
}

TEST_F(FraudgenTest, ReportRejectsInvalidPlaces) {
  ASSERT_EQ(Fraudgen("--rows 3000 --quiet --output data --format csv").status, kDone);
  if (Fraudgen("report data --quiet").output.contains("chart library")) {
    GTEST_SKIP() << "built without the chart library";
  }
  place_.Write("before.html", "before");
  ExpectError("report", kUsage, "PLACE");
  ExpectError("report data --language de", kUsage, "expected en or pt");
  ExpectError("report nothing -o before.html", kUnreadable, "could not read the folder nothing");
  place_.Write("empty/file", "");
  ExpectError("report empty -o before.html", kUnreadable, "not a fraudgen data set");
  ExpectError("report data -o data", kUsage, "choose a file, such as data/report.html");
  ExpectError("report data -o s3://bucket/report.html", kUsage, "reports are local files");
  EXPECT_NE(Fraudgen("report data -o nowhere/report.html").status, kDone);
  EXPECT_FALSE(Exists("nowhere"));
  ExpectError("report data -o before.html/report.html", kOutput, "before.html");
  ASSERT_EQ(mkfifo((place_ / "pipe").c_str(), 0600), 0);
  ExpectError("report data -o pipe", kUsage, "pipe is not a regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(place_ / "pipe"));
  EXPECT_EQ(Fraudgen("report data -o - >/dev/full").status, kNoRoom);

  place_.Write("data/_fraudgen/fraudgen.toml", "rows = 2000\n");
  ExpectError("report data -o before.html", kUnreadable, "not the settings in the manifests");
  std::filesystem::remove(place_ / "data/_fraudgen/fraudgen.toml");
  ExpectError("report data -o before.html", kUnreadable, "fraudgen.toml: not found");
  EXPECT_EQ(Contents(".").at("before.html"), "before") << "the existing file is kept";
}

}  // namespace report_test
}  // namespace reveza::fraudgen::cli
