#include "fraudgen/run/row_stream.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fraudgen/run/direct_output.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen {
namespace row_stream_test {
namespace {

PreparedModel Prepared(const char* rows) {
  SettingsBuilder builder;
  EXPECT_TRUE(builder.AddFlag("rows", rows));
  EXPECT_TRUE(builder.AddFlag("model", "classic"));
  EXPECT_TRUE(builder.AddFlag("format", "arrow"));
  auto settings = builder.Build();
  EXPECT_TRUE(settings);
  auto prepared = PrepareRows(*settings, [](uint64_t, uint64_t) { return true; });
  EXPECT_TRUE(prepared);
  return *std::move(prepared);
}

// A stream of the transactions.
CStream Open(const char* rows, Shard shard = {}) {
  PreparedModel prepared = Prepared(rows);
  const Table& table = **FindTable(*prepared.model, "transactions");
  CStream stream = {};
  OpenStream(std::move(prepared), shard, table, {0, 1}, stream);
  return stream;
}

// Reads and releases a stream. Returns the rows of its batches.
std::vector<int64_t> LengthsOf(CStream& stream) {
  std::vector<int64_t> lengths;
  while (true) {
    CArray array = {};
    EXPECT_EQ(stream.get_next(&stream, &array), 0);
    if (array.release == nullptr) break;
    lengths.push_back(array.length);
    array.release(&array);
  }
  EXPECT_EQ(stream.get_last_error(&stream), nullptr);
  stream.release(&stream);
  return lengths;
}

TEST(RowStream, HasAllRowsInBatchesOfOneSize) {
  CStream stream = Open("140000");
  CSchema schema = {};
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  EXPECT_EQ(schema.n_children, 2);
  schema.release(&schema);
  EXPECT_EQ(LengthsOf(stream), (std::vector<int64_t>{65'536, 65'536, 8'928}));
}

TEST(RowStream, HasTheRowsOfItsShard) {
  // Two blocks of 70,000 rows.
  CStream first = Open("140000", {.index = 1, .count = 2});
  EXPECT_EQ(LengthsOf(first), (std::vector<int64_t>{65'536, 4'464}));
  CStream without_blocks = Open("140000", {.index = 3, .count = 3});
  EXPECT_EQ(LengthsOf(without_blocks), std::vector<int64_t>());
}

TEST(RowStream, StopsWhenReleased) {
  CStream unread = Open("1000000");
  unread.release(&unread);
  EXPECT_EQ(unread.release, nullptr);
  CStream stream = Open("1000000");
  CArray array = {};
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  stream.release(&stream);
  EXPECT_EQ(array.length, 65'536);  // outlives its stream
  array.release(&array);
}

TEST(RowStream, FindsColumnsByName) {
  const PreparedModel prepared = Prepared("1000");
  const Table& table = **FindTable(*prepared.model, "transactions");
  const auto all = FindColumns(table, {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), table.columns.size());
  EXPECT_EQ(*FindColumns(table, {FlatName(table.columns[3]), FlatName(table.columns[0])}),
            (std::vector<std::size_t>{3, 0}));
  const std::string first = FlatName(table.columns[0]);
  for (const auto& wrong : {std::vector<std::string>{"clouds"}, {first, first}}) {
    const auto found = FindColumns(table, wrong);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Error::Code::kInvalidArgument);
  }
  EXPECT_FALSE(FindTable(*prepared.model, "clouds"));
}

}  // namespace
}  // namespace row_stream_test
}  // namespace reveza::fraudgen
