// The flags of the Brazilian Fraud Data Generator, under both names, for existing scripts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace original_flags_test {

using platform::Ran;

class OriginalFlagsTest : public FraudgenTest {
 protected:
  std::set<std::string> Files(const std::string& folder) const {
    std::set<std::string> files;
    for (const auto& [name, bytes] : Contents(folder)) {
      if (!name.starts_with("_fraudgen/")) files.insert(name);
    }
    return files;
  }
};

TEST_F(OriginalFlagsTest, ShortAndLongNamesAreEquivalent) {
  const Ran brief = Fraudgen(
      "-t all -s 2MB -o brief -f csv -r 0.03 -w 2 --seed 7 -c 1200 --start-date 2025-01-01 "
      "--end-date 2025-01-31 --no-profiles --model classic --quiet");
  ASSERT_EQ(brief.status, kDone) << brief.output;
  const Ran spelled = Fraudgen(
      "--type all --size 2MB --output spelled --format csv --fraud-rate 0.03 --workers 1 --seed 7 "
      "--customers 1200 --start-date 2025-01-01 --end-date 2025-01-31 --no-profiles --model "
      "classic --quiet");
  ASSERT_EQ(spelled.status, kDone) << spelled.output;
  EXPECT_EQ(Contents("brief"), Contents("spelled"));
  EXPECT_EQ(Files("brief"),
            (std::set<std::string>{"customers/part-00000.csv", "devices/part-00000.csv",
                                   "drivers/part-00000.csv", "rides/part-00000.csv",
                                   "transactions/part-00000.csv"}));
  const auto contents = Contents("brief");
  EXPECT_EQ(std::ranges::count(contents.at("customers/part-00000.csv"), '\n'), 1201);
  EXPECT_EQ(contents.at("customers/part-00000.csv").find("young_digital"), std::string::npos)
      << "--no-profiles";
  EXPECT_NE(Fraudgen("-v").output.find("fraudgen "), std::string::npos);
  EXPECT_EQ(Fraudgen("-v").output, Fraudgen("--version").output);
}

TEST_F(OriginalFlagsTest, TypesHaveTheirTables) {
  const std::string small = " --model classic --rows 500 --customers 1000 --quiet -f jsonl -o ";
  ASSERT_EQ(Fraudgen("-t transactions" + small + "payments").status, kDone);
  EXPECT_EQ(Files("payments"),
            (std::set<std::string>{"customers/part-00000.jsonl", "devices/part-00000.jsonl",
                                   "transactions/part-00000.jsonl"}));
  ASSERT_EQ(Fraudgen("-t rides" + small + "rides").status, kDone);
  EXPECT_TRUE(Files("rides").contains("drivers/part-00000.jsonl"));
  EXPECT_TRUE(Files("rides").contains("rides/part-00000.jsonl"));
  EXPECT_FALSE(Files("rides").contains("transactions/part-00000.jsonl"));
}

TEST_F(OriginalFlagsTest, AllFormatsAreWritten) {
  for (const std::string format : {"jsonl", "json", "csv", "tsv", "parquet"}) {
    const Ran ran = Fraudgen("--model classic --rows 500 --quiet -f " + format + " -o " + format);
    if (ran.output.contains("built without Arrow")) continue;
    ASSERT_EQ(ran.status, kDone) << ran.output;
    EXPECT_TRUE(Exists(format + "/transactions/part-00000." + format)) << format;
  }
  const Ran ran = Fraudgen("--model classic --rows 500 --quiet -f parquet_partitioned -o parts");
  if (ran.output.contains("built without Arrow")) GTEST_SKIP() << "no Parquet";
  ASSERT_EQ(ran.status, kDone) << ran.output;
  EXPECT_TRUE(std::ranges::any_of(
      std::filesystem::recursive_directory_iterator(place_ / "parts"),
      [](const auto& entry) { return entry.path().filename().string() == "year=2025"; }));
  for (const char* codec : {"snappy", "zstd", "gzip", "brotli", "lz4", "none"}) {
    EXPECT_EQ(Fraudgen("--model classic --rows 500 --quiet -f parquet --compression " +
                       std::string(codec) + " -o " + codec)
                  .status,
              kDone);
  }
}

// Nothing listens there; the error shows that the flags were parsed.
TEST_F(OriginalFlagsTest, AcceptsMinioFlags) {
  const Ran ran = Fraudgen(
      "--model classic --rows 500 --quiet -o minio://bucket/prefix --minio-endpoint "
      "http://127.0.0.1:9 --minio-access-key one --minio-secret-key two --no-date-partition");
  if (ran.output.contains("built without")) GTEST_SKIP() << "no buckets";
  EXPECT_EQ(ran.status, kOutput) << ran.output;
  EXPECT_NE(ran.output.find("127.0.0.1:9"), std::string::npos) << ran.output;
}

TEST_F(OriginalFlagsTest, StreamAcceptsTheFlags) {
  const std::string common = "--type rides -c 1000 --fraud-rate .02 --seed 1 --model classic ";
  const Ran brief = Fraudgen("stream -t stdout -r 1000 -n 5 -q " + common + "2>/dev/null");
  EXPECT_EQ(brief.status, kDone) << brief.output;
  EXPECT_EQ(std::ranges::count(brief.output, '\n'), 5) << brief.output;
  EXPECT_EQ(Fraudgen("stream --target stdout --rate 1000 --max-events 5 --quiet " + common +
                     "2>/dev/null")
                .output,
            brief.output);
  const Ran pretty =
      Fraudgen("stream -t stdout -r 1000 -n 1 --pretty -q " + common + "2>/dev/null");
  EXPECT_EQ(pretty.status, kDone);
  EXPECT_GT(std::ranges::count(pretty.output, '\n'), 5);
  EXPECT_EQ(nlohmann::json::parse(pretty.output),
            nlohmann::json::parse(brief.output.substr(0, brief.output.find('\n'))));
}

}  // namespace original_flags_test
}  // namespace reveza::fraudgen::cli
