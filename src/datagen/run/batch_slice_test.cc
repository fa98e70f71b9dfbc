#include "datagen/run/batch_slice.h"

#include <gtest/gtest.h>

#include <string>

namespace reveza::datagen {
namespace {

// Each value says in which row it was.
void Fill(Batch& batch, std::size_t rows) {
  batch.Begin(rows);
  for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
    ColumnValues& column = batch.column(i);
    for (std::size_t row = 0; row < rows; ++row) {
      if (!column.present.empty()) column.present[row] = row % 3 != 0;
      if (!column.numbers.empty()) column.numbers[row] = static_cast<int64_t>(100 * i + row);
      if (!column.codes.empty()) column.codes[row] = static_cast<uint16_t>(row % 2);
      if (!column.flags.empty()) column.flags[row] = static_cast<uint8_t>(row % 2);
      if (batch.table().columns[i].type == ColumnType::kText) {
        column.AppendText(batch.IsNull(i, row) ? "" : std::string(row, 'x'));
      }
    }
  }
}

TEST(BatchSlice, HasTheRowsOfThatPart) {
  Batch whole(kTransactions);
  Fill(whole, 20);
  Batch part(kTransactions);
  Fill(part, 15);  // what was there before must go
  CopyRows(whole, 7, 6, part);
  ASSERT_EQ(part.rows(), 6u);
  for (std::size_t i = 0; i < kTransactions.columns.size(); ++i) {
    const ColumnValues& from = whole.column(i);
    const ColumnValues& to = part.column(i);
    for (std::size_t row = 0; row < 6; ++row) {
      ASSERT_EQ(part.IsNull(i, row), whole.IsNull(i, row + 7)) << i;
      if (!from.numbers.empty()) {
        ASSERT_EQ(to.numbers.at(row), from.numbers[row + 7]);
      }
      if (!from.codes.empty()) {
        ASSERT_EQ(to.codes.at(row), from.codes[row + 7]);
      }
      if (!from.flags.empty()) {
        ASSERT_EQ(to.flags.at(row), from.flags[row + 7]);
      }
      if (!from.ends.empty()) {
        ASSERT_EQ(to.TextAt(row), from.TextAt(row + 7));
      }
    }
    ASSERT_EQ(to.numbers.size(), from.numbers.empty() ? 0u : 6u);
    ASSERT_EQ(to.ends.size(), from.ends.empty() ? 0u : 6u);
  }
}

TEST(BatchSlice, OfNoRowsIsEmpty) {
  Batch whole(kDevices);
  Fill(whole, 4);
  Batch part(kDevices);
  CopyRows(whole, 4, 0, part);
  EXPECT_EQ(part.rows(), 0u);
  EXPECT_TRUE(part.column(0).ends.empty());
}

}  // namespace
}  // namespace reveza::datagen
