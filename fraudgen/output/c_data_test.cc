#include "fraudgen/output/c_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "fraudgen/output/testing_rows.h"

namespace reveza::fraudgen {
namespace c_data_test {
namespace {

CLayout WholeTable(Money money) {
  CLayout layout = {.table = &kTestingTable, .columns = {}, .money = money};
  for (std::size_t i = 0; i < kTestingTable.columns.size(); ++i) layout.columns.push_back(i);
  return layout;
}

Batch TestingBatch(std::size_t rows) {
  Batch batch(kTestingTable);
  FillTestingRows(batch, 0, rows, TestingTexts::kAwkward);
  return batch;
}

// Whether a row is present.
bool Has(const CArray& column, std::size_t row) {
  if (column.buffers[0] == nullptr) return true;
  return (static_cast<const uint8_t*>(column.buffers[0])[row / 8] >> (row % 8) & 1) != 0;
}

std::string_view TextAt(const CArray& column, std::size_t row) {
  const auto* const offsets = static_cast<const int32_t*>(column.buffers[1]);
  const auto size = static_cast<std::size_t>(offsets[row + 1] - offsets[row]);
  return {static_cast<const char*>(column.buffers[2]) + offsets[row], size};
}

TEST(CData, SchemaNamesTypesAndNulls) {
  const CLayout layout = WholeTable(Money::kDecimal);
  CSchema schema = {};
  ExportSchema(layout, schema);
  EXPECT_STREQ(schema.format, "+s");
  ASSERT_EQ(schema.n_children, static_cast<int64_t>(kTestingTable.columns.size()));
  for (std::size_t i = 0; i < kTestingTable.columns.size(); ++i) {
    const Column& column = kTestingTable.columns[i];
    const CSchema& field = *schema.children[i];
    EXPECT_EQ(field.name, FlatName(column));
    EXPECT_EQ(field.flags, column.nullable == Nullable::kYes ? 2 : 0);
    EXPECT_EQ(field.dictionary != nullptr, column.type == ColumnType::kCategory);
    if (column.type == ColumnType::kTimestamp) {
      EXPECT_STREQ(field.format, "tsu:");
    }
  }
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
}

TEST(CData, RowsAreThoseOfTheBatches) {
  constexpr std::size_t kRows = 100;
  const CLayout layout = WholeTable(Money::kCents);
  const Batch batch = TestingBatch(kRows);
  CRows rows(layout, kRows);
  rows.Append(batch, 0, 37);
  rows.Append(batch, 37, kRows - 37);
  CArray array = {};
  rows.Export(array);
  EXPECT_EQ(rows.rows(), 0);
  ASSERT_EQ(array.length, static_cast<int64_t>(kRows));
  for (std::size_t i = 0; i < kTestingTable.columns.size(); ++i) {
    const Column& column = kTestingTable.columns[i];
    const CArray& values = *array.children[i];
    int64_t nulls = 0;
    for (std::size_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(Has(values, row), !batch.IsNull(i, row)) << column.name << " row " << row;
      nulls += Has(values, row) ? 0 : 1;
      if (!Has(values, row)) continue;
      if (column.type == ColumnType::kText) {
        EXPECT_EQ(TextAt(values, row), batch.column(i).TextAt(row));
      } else if (column.type == ColumnType::kCategory) {
        const auto code = static_cast<const int16_t*>(values.buffers[1])[row];
        EXPECT_EQ(TextAt(*values.dictionary, static_cast<std::size_t>(code)),
                  column.values[batch.column(i).codes[row]]);
      }
    }
    EXPECT_EQ(values.null_count, nulls);
  }
  array.release(&array);
}

TEST(CData, ReaderMayTakeOneColumn) {
  const CLayout layout = WholeTable(Money::kFloat);
  CRows rows(layout, 10);
  rows.Append(TestingBatch(10), 0, 10);
  CArray array = {};
  rows.Export(array);
  CArray taken = *array.children[0];
  array.children[0]->release = nullptr;
  array.release(&array);
  EXPECT_EQ(taken.length, 10);
  taken.release(&taken);
}

TEST(CData, ColumnsAreThoseAskedFor) {
  const CLayout layout = {.table = &kTestingTable, .columns = {2, 0}, .money = Money::kFloat};
  CSchema schema = {};
  ExportSchema(layout, schema);
  ASSERT_EQ(schema.n_children, 2);
  EXPECT_EQ(schema.children[0]->name, FlatName(kTestingTable.columns[2]));
  EXPECT_EQ(schema.children[1]->name, FlatName(kTestingTable.columns[0]));
  schema.release(&schema);
}

}  // namespace
}  // namespace c_data_test
}  // namespace reveza::fraudgen
