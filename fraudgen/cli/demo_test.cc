// Tests of `fraudgen demo` as a program.
#include <gtest/gtest.h>

#include <filesystem>

#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace demo_test {

using platform::Ran;

TEST_F(FraudgenTest, DemoRunsAllStepsAndKeepsOnlyTheReport) {
  const Ran ran = Fraudgen("demo --rows 5000 -o page.html");
  EXPECT_EQ(ran.status, kDone) << ran.output;
  for (const char* part :
       {"$ fraudgen --rows 5000 --format ", "--output data\n", "generated in ",
        "writing and syncing the same ", "$ fraudgen check data\n", " checks passed",
        "$ duckdb -c ", "transactions/*.", "About the data: ", "Next steps:"}) {
    EXPECT_NE(ran.output.find(part), std::string::npos) << part << " in " << ran.output;
  }
  // Either the result of the query, or a note that DuckDB is missing.
  EXPECT_NE(ran.output.contains("DuckDB is not installed"), ran.output.contains("frauds │"))
      << ran.output;
  const bool page = Exists("page.html");
  EXPECT_NE(ran.output.contains("Skipped the report: "), page) << ran.output;
  for (const auto& entry : std::filesystem::directory_iterator(place_.path())) {
    EXPECT_EQ(entry.path().filename(), "page.html");
  }
}

TEST_F(FraudgenTest, DemoRejectsInvalidOutput) {
  std::filesystem::create_directory(place_ / "folder");
  ExpectError("demo -o folder", kUsage, "cannot be created as a file");
  ExpectError("demo -o nowhere/page.html", kPermission, "cannot create a folder in");
  EXPECT_FALSE(Exists("nowhere"));
  EXPECT_TRUE(std::filesystem::is_empty(place_ / "folder"));
}

}  // namespace demo_test
}  // namespace reveza::fraudgen::cli
