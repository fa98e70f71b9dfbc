#include "phi/series/series_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

namespace reveza::phi {
namespace series_table_test {

TEST(SeriesTableTest, ReadsByExtension) {
  const auto path = std::filesystem::path(testing::TempDir()) / "phi_series_table_test.csv";
  std::ofstream(path) << "a,b\n1,2\n";
  const auto table = ReadSeries(path.string(), {});
  std::filesystem::remove(path);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->variables(), 2);
}

TEST(SeriesTableTest, FindsColumnNamesWithoutReadingAllRows) {
  const auto path = std::filesystem::path(testing::TempDir()) / "phi_column_names_test.csv";
  std::ofstream out(path);
  out << "time,Fz,Cz\n";
  for (int i = 0; i < 20'000; ++i) out << i << ",1.5,2.5\n";
  out << "not,a,row,of,three\n";
  out.close();
  EXPECT_EQ(ColumnNames(path.string()), (std::vector<std::string>{"Fz", "Cz", "time"}));
  std::filesystem::remove(path);
  EXPECT_EQ(ColumnNames(path.string()), std::vector<std::string>());
  EXPECT_EQ(ColumnNames("/dev"), std::vector<std::string>());
}

TEST(SeriesTableTest, ReportsUnreadableFiles) {
  const auto missing = ReadSeries("/nowhere/at/all.csv", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Error::Code::kNotFound);
  EXPECT_EQ(missing.error().message, "cannot read /nowhere/at/all.csv: No such file or directory");
  const auto other = ReadSeries("/nowhere/at/all.mat", {});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("use .csv"), std::string::npos);
  EXPECT_FALSE(ReadSeries("/nowhere/at/all.parquet", {}));
}

TEST(SeriesTableTest, DropsRowsAndKeepsTrials) {
  const ReadOptions by_trial = {.trials = "trial"};
  auto table =
      ReadDelimited("# recorded\na,b,trial\n1,1,x\n,2,x\n3,3,x\n4,4,y\n5,nan,y\n", "s", by_trial);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->FirstMissing(), "line 4: 'a' is nan");
  EXPECT_EQ(table->DropMissing(), 2);
  EXPECT_EQ(table->FirstMissing(), "");
  EXPECT_EQ(table->values, (std::vector<double>{1, 1, 3, 3, 4, 4}));
  EXPECT_EQ(table->trials, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(table->lines, (std::vector<std::int64_t>{3, 5, 6}));
}

TEST(SeriesTableTest, ANameOfTwoColumnsSelectsNeither) {
  const std::string text = "a,a,b\n1,2,3\n";
  const auto table = ReadDelimited(text, "s", {.columns = {"a", "b"}});
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("columns 0 and 1 are both named 'a'"), std::string::npos);
  EXPECT_EQ(ReadDelimited(text, "s", {.columns = {"1", "b"}})->values, (std::vector<double>{2, 3}));
  EXPECT_EQ(ReadDelimited(text, "s", {})->variables(), 3);
}

TEST(SeriesTableTest, KeepsTheNumbersOfRowsWithoutLines) {
  SeriesTable table = {.names = {"a"}, .values = {0, 1, NAN, 3, 4, 5, NAN, 7}, .trials = {0, 4}};
  EXPECT_EQ(table.PlaceOf(3), 3);
  EXPECT_EQ(table.DropMissing(), 2);
  EXPECT_EQ(table.PlaceOf(2), 3);
  EXPECT_EQ(table.PlaceOf(5), 7);
  table.CutTrials(2);
  EXPECT_EQ(table.values, (std::vector<double>{0, 1, 4, 5}));
  EXPECT_EQ(table.PlaceOf(2), 4);
}

TEST(SeriesTableTest, CutsTrialsAndLeavesOutShorterOnes) {
  auto table = ReadDelimited("a,trial\n1,x\n2,x\n3,x\n4,y\n5,z\n6,z\n", "s", {.trials = "trial"});
  ASSERT_TRUE(table) << table.error().message;
  table->CutTrials(2);
  EXPECT_EQ(table->values, (std::vector<double>{1, 2, 5, 6}));
  EXPECT_EQ(table->trials, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(table->lines, (std::vector<std::int64_t>{2, 3, 6, 7}));
}

TEST(SeriesTableTest, LeavesOutCountersOfRows) {
  for (const std::string name : {"", "Unnamed: 0", "__index_level_0__", "index", "Sample"}) {
    const auto table = ReadDelimited(name + ",a,b\n7,1,2\n8,2,1\n9,5,5\n", "s", {});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b"})) << name;
    EXPECT_EQ(table->left_out, (std::vector<std::string>{name}));
    EXPECT_EQ(table->values, (std::vector<double>{1, 2, 2, 1, 5, 5}));
    // Values that do not count are measured.
    const auto other = ReadDelimited(name + ",a\n7,1\n8,2\n8,5\n", "s", {});
    EXPECT_EQ(other->variables(), 2) << name;
  }
  const std::string text = "index,a,trial\n0,5,x\n1,4,x\n0,6,y\n1,2,y\n";
  EXPECT_EQ(ReadDelimited(text, "s", {.trials = "trial"})->names, std::vector<std::string>{"a"});
  EXPECT_EQ(ReadDelimited(text, "s", {.columns = {"index", "a"}})->variables(), 2);
  EXPECT_EQ(ReadDelimited("index\n0\n1\n", "s", {})->variables(), 1);
}

TEST(SeriesTableTest, RecognisesTimesByName) {
  for (const char* name : {"t", "time", "Time", "time_ms", "time (s)", "timestamp", "DateTime",
                           "seconds", "date", "timestamps", "Timestamp_ns", "Timestamp (UTC)",
                           "t(ms)", "t [s]", "elapsed", "elapsed_s", "epoch", "Elapsed Time"}) {
    EXPECT_TRUE(IsTimeName(name)) << name;
  }
  for (const char* name : {"", "T3", "timer", "times", "target", "daytime", "t_1", "t-1", "t1",
                           "date_rate", "epoch_power", "update", "elapsed_x"}) {
    EXPECT_FALSE(IsTimeName(name)) << name;
  }
}

}  // namespace series_table_test
}  // namespace reveza::phi
