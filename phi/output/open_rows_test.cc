#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/table/arrow.h"
#include "phi/output/appended_file.h"
#include "phi/output/rows.h"

namespace reveza::phi {
namespace open_rows_test {

const RowLayout kLayout{.states = {"a", "b"}, .measures = {"si"}};

RowBlock Two(std::uint64_t cycle) {
  return {.run = {0, 1},
          .cycle = {cycle, cycle},
          .hash = {0xabcULL + cycle, ~0ULL},
          .states = {0.5F, -1.25F, 3, 0.1F},
          .measures = {0.25, kNotAvailable}};
}

std::string FileText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Rows, FormatMissingValuesAsEmpty) {
  std::string csv = HeadingOf(kLayout);
  AppendCsv(kLayout, Two(7), csv);
  EXPECT_EQ(csv,
            "run,cycle,hash,a,b,si\n"
            "0,7,0000000000000ac3,0.5,-1.25,0.25\n"
            "1,7,ffffffffffffffff,3,0.1,\n");
}

TEST(Rows, AreTruncatedToTheSyncedPosition) {
  const platform::TestingDirectory folder;
  const auto path = folder.path() / "rows.csv";
  auto writer = OpenRows(folder.path(), RowFormat::kCsv, kLayout, {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->Append(Two(1)));
  const auto place = (*writer)->Sync();
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rows, 2U);
  const std::string settled = FileText(path);
  ASSERT_TRUE((*writer)->Append(Two(2)));
  ASSERT_TRUE((*writer)->Sync());
  const std::string all = FileText(path);
  EXPECT_GT(all.size(), settled.size());

  auto again = OpenRows(folder.path(), RowFormat::kCsv, kLayout, *place);
  ASSERT_TRUE(again);
  EXPECT_EQ(FileText(path), settled);
  ASSERT_TRUE((*again)->Append(Two(2)));
  ASSERT_TRUE((*again)->Sync());
  EXPECT_EQ(FileText(path), all);
}

TEST(Rows, RejectTruncatedFile) {
  const platform::TestingDirectory folder;
  const auto opened = OpenRows(folder.path(), RowFormat::kCsv, kLayout, {.bytes = 10, .rows = 1});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("--fresh"), std::string::npos);
}

TEST(Rows, ReportMissingFolder) {
  const auto opened = OpenRows("/proc/no/such", RowFormat::kCsv, kLayout, {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("/proc/no/such/rows.csv"), std::string::npos);
}

TEST(Rows, ParseFormatNames) {
  EXPECT_EQ(ParseRowFormat("csv"), RowFormat::kCsv);
  const auto wrong = ParseRowFormat("parque");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Error::Code::kInvalidArgument);
  EXPECT_NE(wrong.error().message.find("did you mean 'parquet'?"), std::string::npos);
}

TEST(Rows, ParquetPartsAreTruncatedToTheSyncedPosition) {
  if (!kHaveArrow) GTEST_SKIP() << "this build has no Arrow";
  const platform::TestingDirectory folder;
  const auto part = [&](int number) {
    return folder.path() / fmt::format("rows.parquet/part-{:06}.parquet", number);
  };
  auto writer = OpenRows(folder.path(), RowFormat::kParquet, kLayout, {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->Append(Two(1)));
  const auto place = (*writer)->Sync();
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, (RowPosition{.bytes = 0, .parts = 1, .rows = 2}));
  ASSERT_TRUE((*writer)->Sync());
  EXPECT_FALSE(std::filesystem::exists(part(1)));
  ASSERT_TRUE((*writer)->Append(Two(2)));
  ASSERT_TRUE((*writer)->Sync());
  const std::string first = FileText(part(0));
  EXPECT_TRUE(std::filesystem::exists(part(1)));

  // As left by a process killed while writing a part.
  const auto next = folder.path() / "rows.parquet/.part-000001.parquet.0.partial";
  const auto later = folder.path() / "rows.parquet/.part-000002.parquet.0.partial";
  std::ofstream(next) << "half";
  std::ofstream(later) << "half";
  ASSERT_TRUE(OpenRows(folder.path(), RowFormat::kParquet, kLayout, *place));
  EXPECT_FALSE(std::filesystem::exists(part(1)));
  EXPECT_FALSE(std::filesystem::exists(next));
  EXPECT_FALSE(std::filesystem::exists(later));
  // Also without complete parts after the synced ones.
  std::ofstream(next) << "half";
  ASSERT_TRUE(OpenRows(folder.path(), RowFormat::kParquet, kLayout, *place));
  EXPECT_FALSE(std::filesystem::exists(next));
  EXPECT_EQ(FileText(part(0)), first);
  EXPECT_TRUE(first.starts_with("PAR1"));

  std::filesystem::remove(part(0));
  EXPECT_FALSE(OpenRows(folder.path(), RowFormat::kParquet, kLayout, *place));
}

}  // namespace open_rows_test
}  // namespace reveza::phi
