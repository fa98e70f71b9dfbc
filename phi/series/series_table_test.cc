#include "phi/series/series_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

}  // namespace series_table_test
}  // namespace reveza::phi
