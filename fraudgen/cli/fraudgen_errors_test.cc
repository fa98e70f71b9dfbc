// Tests of what `fraudgen` refuses, and of its messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace fraudgen_errors_test {

using platform::Ran;

TEST_F(FraudgenTest, SuggestsNearestName) {
  ExpectError("--sise 1GB", kUsage, "did you mean '--size'?");
  ExpectError("smaple", kUsage, "did you mean 'sample'?");
  ExpectError("elephant", kUsage, "unknown command 'elephant'");
  ExpectError("plan --fromat csv", kUsage, "did you mean '--format'?");
  ExpectError("--format paquet", kUsage, "did you mean 'parquet'?");
  ExpectError("--model kohaerent", kUsage, "did you mean 'coherent'?");
  EXPECT_FALSE(Exists("output"));
}

TEST_F(FraudgenTest, RejectsInvalidSizes) {
  ExpectError("--size 10", kUsage, "--size: ");
  ExpectError("--size=-5GB", kUsage, "--size: ");
  ExpectError("--size 0MB", kUsage, "above 0");
  ExpectError("--size 9999TB", kUsage, "--size: ");
  ExpectError("--size 1kB --format csv", kUsage, "too small");
  ExpectError("--rows 0", kUsage, "--rows: '0' is invalid; expected a whole number from 1");
  ExpectError("--rows many", kUsage, "whole number");
  ExpectError("--fraud-rate 2", kUsage, "is not a share");
  ExpectError("--customers 0", kUsage, "whole number from 1");
}

TEST_F(FraudgenTest, RejectsInvalidDates) {
  ExpectError("--start-date 2025-03-01 --end-date 2025-02-01", kUsage,
              "start_date (2025-03-01) is after end_date (2025-02-01); exchange");
  ExpectError("--start-date 2025-13-01", kUsage, "--start-date: ");
  ExpectError("--model classic --end-date 2025-03-01 --as-of 2025-02-01", kUsage,
              "as_of (2025-02-01) is before");
  ExpectError("--labels-as-of 2024-12-31", kUsage, "expected a day from the first (2025-01-01) on");
  ExpectError("--labels-as-of today", kUsage, "--labels-as-of: ");
  ExpectError("--labels-as-of 2025-06-30 --model classic", kUsage, "requires --model coherent");
}

TEST_F(FraudgenTest, RejectsContradictoryFlags) {
  ExpectError("--rows 5 --size 1GB", kUsage, "exclude each other");
  ExpectError("--format csv --nested", kUsage, "--nested requires --format parquet or arrow");
  ExpectError("--model classic --difficulty hard", kUsage,
              "--difficulty requires --model coherent");
  ExpectError("--fraud-rate 0.6 --rows 5", kUsage, "fraud_rate must be at most 0.5");
  ExpectError("--no-profiles", kUsage, "--no-profiles requires --model classic");
  ExpectError("--output - --json --rows 5", kUsage, "exclude each other");
  ExpectError("--table customers --rows 5", kUsage, "--table requires --output -");
  ExpectError("--output - --table riders --rows 5", kUsage, "expected one of customers, accounts");
  ExpectError("--threads 0 --rows 5", kUsage, "expected 1 to");
  ExpectError("--threads some --rows 5", kUsage, "--workers = some; expected a whole number");
  ExpectError("sample plan", kUsage, "'plan' is a second one");
}

TEST_F(FraudgenTest, RejectsOptionsWithoutEffect) {
  ExpectError("--size \"$NOT_SET\"", kUsage, "--size: empty value");
  ExpectError("--rows 5 --format csv --compression snappy", kUsage, "requires --format parquet");
  ExpectError("--rows 5 --format csv --compression-level 3", kUsage, "requires zstd");
  ExpectError("--rows 5 --output \"\"", kUsage, "--output: empty value");
  ExpectError("report x --language \"\"", kUsage, "--language: empty value");
  ExpectError("check data --seed 2", kUsage, "--seed has no effect on check");
  ExpectError("check data --output x", kUsage, "--output has no effect on check");
  ExpectError("report data --config my.toml", kUsage, "--config has no effect on report");
  EXPECT_FALSE(Exists("output"));
}

TEST_F(FraudgenTest, RejectsInvalidPartitions) {
  ExpectError("--partition yeer --rows 5", kUsage, "--partition: unknown column 'yeer'; did you");
  ExpectError("--partition amount --rows 5", kUsage, "too many values for a partition key");
  ExpectError("--partition type,year --rows 5", kUsage, "must come before other keys");
  ExpectError("--partition year --output - --rows 5", kUsage, "exclude each other");
  ExpectError("--partition month --rows 5 --start-date 2024-06-01", kUsage,
              "start the keys with year,month");
  ExpectError("--partition profession --rows 5", kUsage, "the maximum is 64");
  ExpectError("--partition operating_state --rows 5", kUsage, "no table of this model has");
  ExpectError("--model classic --partition year,month,day --rows 5000", kUsage,
              "not in order of time");
}

TEST_F(FraudgenTest, RejectsInvalidScenarios) {
  place_.Write("mine.toml", "name = \"MINE\"\nweight = 3\namount = 100\nrows = [5, 2]\n");
  ExpectError("--rows 5 --scenario mine.toml", kConfiguration, "mine.toml:4:8: rows: expected");
  ExpectError("--rows 5 --scenario none.toml", kConfiguration,
              "cannot read the scenario none.toml");
  place_.Write("mine.toml", "name = \"MINE\"\nweight = 3\namount = 100\n");
  ExpectError("--rows 5 --model classic --scenario mine.toml", kUsage, "requires --model coherent");
  ExpectError("check data --scenario mine.toml", kUsage, "--scenario has no effect on check");
  EXPECT_FALSE(Exists("output"));
}

TEST_F(FraudgenTest, RejectsInvalidShards) {
  ExpectError("--shard 4/3", kUsage,
              "--shard: '4/3': shard 4 of 3 does not exist; expected 1 to 3");
  ExpectError("--shard 0/3", kUsage, "expected 1 to 3");
  ExpectError("--shard 3", kUsage, "expected INDEX/COUNT, such as 3/8");
}

TEST_F(FraudgenTest, RejectsInvalidOutputs) {
  place_.Write("file", "text");
  ExpectError("--rows 5 --output file", kUsage, "choose a folder");
  ExpectError("--rows 5 --output file/below", kUsage, "choose a folder");
  ExpectError("--rows 5 --output s3:/bucket/x", kUsage, "'s3:/bucket/x' is invalid");
  if (geteuid() != 0) {
    std::filesystem::create_directory(place_ / "locked");
    std::filesystem::permissions(
        place_ / "locked", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    ExpectError("--rows 5 --output locked", kPermission, "choose a writable folder");
  }
}

// Root may write anywhere, so the test switches users.
TEST_F(FraudgenTest, ReportsForeignFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can switch users";
  std::filesystem::create_directory(place_ / "mine");
  std::filesystem::permissions(place_.path(), std::filesystem::perms(0755));
  const Ran ran =
      Fraudgen("--rows 5 --output mine", "setpriv --reuid 65534 --regid 65534 --clear-groups");
  if (ran.output.find("setpriv") != std::string::npos || ran.status == 126 || ran.status == 127) {
    GTEST_SKIP() << "this user cannot reach the build: " << ran.output;
  }
  EXPECT_EQ(ran.status, kPermission) << ran.output;
  EXPECT_NE(ran.output.find("choose a writable folder"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(place_ / "mine"));
}

// Even root may not write to procfs.
TEST_F(FraudgenTest, ReportsReadOnlyPlace) {
  const Ran ran = Fraudgen("--rows 5 --output /proc/self/data");
  EXPECT_TRUE(ran.status == kPermission || ran.status == kOutput || ran.status == kFailed)
      << ran.status;
  EXPECT_TRUE(ran.output.starts_with("fraudgen: could not create the folder")) << ran.output;
}

TEST_F(FraudgenTest, ReportsFileSizeLimit) {
  ExpectError("--rows 5 --output data", kNoRoom, "File too large", "ulimit -f 100 &&");
  EXPECT_EQ(Fraudgen("--rows 5 --output data --quiet"), (Ran{kDone, ""}));
}

TEST_F(FraudgenTest, RejectsFolderWithOtherData) {
  ASSERT_EQ(Fraudgen("--rows 3000 --seed 4").status, kDone);
  const auto before = Contents("output");
  ExpectError("--rows 3000 --seed 5", kOtherData, "the seed is 4");
  ExpectError("--rows 3000 --seed 4 --fraud-rate 5%", kOtherData,
              "fraud_rate is 0.02 there and 0.05 here");
  ExpectError("--rows 3000 --seed 4 --labels-as-of 2025-06-30", kOtherData, "labels_as_of");
  ExpectError("--rows 4000 --seed 4", kOtherData, "rows is 3000 there and 4000 here");
  ExpectError("--rows 3000 --seed 4 --format csv", kOtherData,
              "format is jsonl there and csv here");
  EXPECT_EQ(Contents("output"), before);
}

TEST_F(FraudgenTest, ConfigurationErrorsNameTheLine) {
  place_.Write("my.toml", "seed = 3\nfraud_rat = 0.1\n");
  ExpectError("--config my.toml", kConfiguration,
              "my.toml:2: unknown key 'fraud_rat'; did you mean 'fraud_rate'?");
  place_.Write("my.toml", "seed = \"x\"\n");
  ExpectError("--config my.toml", kConfiguration, "my.toml:1: seed: 'x' is invalid");
  place_.Write("my.toml", "seed\n");
  ExpectError("--config my.toml", kConfiguration, "my.toml:1:");
  ExpectError("--config none.toml", kConfiguration, "fraudgen config > none.toml");
}

TEST_F(FraudgenTest, RejectsOtherModel) {
  ASSERT_EQ(Fraudgen("--rows 3000 --difficulty easy").status, kDone);
  ExpectError("--rows 3000 --model classic", kOtherData, "the model is 'coherent' there");
  ExpectError("--rows 3000", kOtherData, "difficulty is 0.15 there and 0.85 here");
}

TEST_F(FraudgenTest, RejectsMissingConfiguration) {
  ExpectError("config --config none.toml", kConfiguration, "cannot read the configuration");
  ExpectError("config --config .", kConfiguration, "the configuration . is a folder");
}

}  // namespace fraudgen_errors_test
}  // namespace reveza::fraudgen::cli
