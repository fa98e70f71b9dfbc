// `fraudgen demo` as people meet it.
#include <gtest/gtest.h>

#include <filesystem>

#include "exit_status.h"
#include "testing_fraudgen.h"

namespace reveza::fraudgen {
namespace {

using platform::Ran;

TEST_F(FraudgenTest, DemoShowsEachStepAndLeavesOnlyThePage) {
  const Ran ran = Fraudgen("demo --rows 5000 -o page.html");
  EXPECT_EQ(ran.status, kDone) << ran.output;
  for (const char* part :
       {"$ fraudgen --rows 5000 --format ", "--output data\n", "made in ",
        "The disk alone takes the same ", "$ fraudgen check data\n", "checks in all, all fine\n",
        "$ duckdb -c ", "transactions_*.", "What it means: ", "With your own numbers:"}) {
    EXPECT_NE(ran.output.find(part), std::string::npos) << part << " in " << ran.output;
  }
  // Somebody answers, or it is said that nobody does.
  EXPECT_NE(ran.output.contains("No DuckDB here"), ran.output.contains("frauds │")) << ran.output;
  const bool page = Exists("page.html");
  EXPECT_NE(ran.output.contains("No report: "), page) << ran.output;
  for (const auto& entry : std::filesystem::directory_iterator(place_.path())) {
    EXPECT_EQ(entry.path().filename(), "page.html");
  }
}

TEST_F(FraudgenTest, DemosThatCannotBe) {
  std::filesystem::create_directory(place_ / "folder");
  ExpectError("demo -o folder", kUsage, "no file that the report can become");
  ExpectError("demo -o nowhere/page.html", kPermission, "cannot make a folder in");
  EXPECT_FALSE(Exists("nowhere"));
  EXPECT_TRUE(std::filesystem::is_empty(place_ / "folder"));
}

}  // namespace
}  // namespace reveza::fraudgen
