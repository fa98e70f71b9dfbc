#include "reveza/jobs/report/parquet_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace reveza::jobs {
namespace parquet_table_test {

using nlohmann::json;

// Two readers of others must agree on the file; prints the types and the rows.
constexpr char kReader[] = R"(
import sys, duckdb, pyarrow.parquet
table = pyarrow.parquet.read_table(sys.argv[1])
rows = [tuple(row.values()) for row in table.to_pylist()]
assert rows == duckdb.sql(f"select * from '{sys.argv[1]}'").fetchall()
assert pyarrow.parquet.ParquetFile(sys.argv[1]).metadata.num_row_groups == int(sys.argv[2])
print([(field.name, str(field.type)) for field in table.schema], rows)
)";

class ParquetTable : public ::testing::Test {
 protected:
  std::string Read(const StepTable& table, std::size_t rows_per_group, std::size_t groups) {
    folder_.Write("table.parquet", ParquetFile(table, rows_per_group));
    folder_.Write("read.py", kReader);
    const auto read =
        platform::Shell(REVEZA_WHEELS_PYTHON " " + (folder_ / "read.py").string() + " " +
                        (folder_ / "table.parquet").string() + " " + std::to_string(groups));
    EXPECT_EQ(read.status, 0) << read.output;
    return read.output;
  }

  platform::TestingDirectory folder_;
};

TEST_F(ParquetTable, KeepsTypesAndNulls) {
  const StepTable table{{"step", "seed", "rate", "code", "tag", "never"},
                        {{1, "-7", "1", "007", "a\u00e7\u00e3o", nullptr},
                         {2, "12", "1e-5", "12", "", nullptr},
                         {std::int64_t{1} << 60, nullptr, 0.25, "3", nullptr, nullptr}}};
  EXPECT_EQ(Read(table, 100, 1),
            "[('step', 'int64'), ('seed', 'int64'), ('rate', 'double'), ('code', 'string'), "
            "('tag', 'string'), ('never', 'string')] "
            "[(1, -7, 1.0, '007', 'a\u00e7\u00e3o', None), (2, 12, 1e-05, '12', '', None), "
            "(1152921504606846976, None, 0.25, '3', None, None)]\n");
}

TEST_F(ParquetTable, SplitsRowsIntoGroups) {
  StepTable table{{"n", "text"}, {}};
  for (int n = 0; n < 20; ++n) {
    table.rows.push_back({n, n % 3 == 0 ? json(nullptr) : json(std::string(200, 'a'))});
  }
  const std::string read = Read(table, 9, 3);
  EXPECT_TRUE(read.contains("(8, 'aaa") && read.contains("(9, None), (10, 'aaa")) << read;
  EXPECT_EQ(Read({{"n"}, {}}, 9, 0), "[('n', 'string')] []\n");
}

TEST_F(ParquetTable, NumbersBeyondSixtyFourBitsAreDoubles) {
  const StepTable table{{"large", "hex"},
                        {{std::numeric_limits<std::uint64_t>::max(), "0x10"}, {1, "nan"}}};
  EXPECT_EQ(Read(table, 9, 1),
            "[('large', 'double'), ('hex', 'string')] "
            "[(1.8446744073709552e+19, '0x10'), (1.0, 'nan')]\n");
}

TEST_F(ParquetTable, HasAsManyColumnsAsTheJobHasMetrics) {
  StepTable table;
  for (int column = 0; column < 300; ++column)
    table.columns.push_back("m" + std::to_string(column));
  table.rows.emplace_back(300, json(1.5));
  EXPECT_TRUE(Read(table, 9, 1).contains("('m299', 'double')"));
}

}  // namespace parquet_table_test
}  // namespace reveza::jobs
