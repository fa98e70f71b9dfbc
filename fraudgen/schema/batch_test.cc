#include "fraudgen/schema/batch.h"

#include <gtest/gtest.h>

namespace reveza::fraudgen {
namespace batch_test {

TEST(BatchTest, BeginSizesEveryColumn) {
  Batch batch(kTransactions);
  for (const std::size_t rows : {std::size_t{3}, Batch::kMaxRows, std::size_t{1}}) {
    batch.Begin(rows);
    EXPECT_EQ(batch.rows(), rows);
    for (std::size_t i = 0; i < kTransactions.columns.size(); ++i) {
      const Column& column = kTransactions.columns[i];
      const ColumnValues& values = batch.column(i);
      EXPECT_EQ(values.present.size(), column.nullable == Nullable::kYes ? rows : 0u);
      const std::size_t entries = values.numbers.size() + values.codes.size() + values.flags.size();
      EXPECT_EQ(entries, column.type == ColumnType::kText ? 0u : rows) << column.name;
      EXPECT_TRUE(values.ends.empty() && values.bytes.empty()) << column.name;
    }
  }
}

TEST(BatchTest, ReadsBackAppendedTexts) {
  Batch batch(kCustomers);
  batch.Begin(3);
  ColumnValues& names = batch.column(batch.IndexOf("name"));
  names.AppendText("Ana");
  names.AppendText("");
  names.AppendText("João da Silva");
  EXPECT_EQ(names.TextAt(0), "Ana");
  EXPECT_EQ(names.TextAt(1), "");
  EXPECT_EQ(names.TextAt(2), "João da Silva");
}

TEST(BatchTest, AppendRowsKeepsKeysIfAllRowsHaveThem) {
  const auto batch_of = [](std::size_t rows) {
    Batch batch(kTransactions);
    batch.Begin(rows);
    for (std::size_t i = 0; i < kTransactions.columns.size(); ++i) {
      if (kTransactions.columns[i].type != ColumnType::kText) continue;
      for (std::size_t row = 0; row < rows; ++row) batch.column(i).AppendText("text");
    }
    return batch;
  };
  const std::size_t column = Batch(kTransactions).IndexOf("customer_id");
  Batch with = batch_of(3);
  with.column(column).keys = {7, 8, 9};
  Batch both(kTransactions);
  both.Begin(4);
  AppendRows(with, 1, 2, both, 0);
  AppendRows(with, 0, 2, both, 2);
  EXPECT_TRUE(both.column(column).HasKeys());
  EXPECT_EQ(both.column(column).keys, (std::vector<uint64_t>{8, 9, 7, 8}));
  both.Begin(5);
  EXPECT_TRUE(both.column(column).keys.empty());
  AppendRows(with, 0, 1, both, 0);
  AppendRows(batch_of(2), 0, 2, both, 1);
  AppendRows(with, 0, 2, both, 3);
  EXPECT_FALSE(both.column(column).HasKeys()) << "rows 1 and 2 have none";
}

TEST(BatchTest, BeginClearsNulls) {
  Batch batch(kTransactions);
  const std::size_t column = batch.IndexOf("refusal_reason");
  batch.Begin(2);
  batch.column(column).present[1] = 0;
  EXPECT_TRUE(batch.IsNull(column, 1));
  EXPECT_FALSE(batch.IsNull(column, 0));
  batch.Begin(2);
  EXPECT_FALSE(batch.IsNull(column, 1));
  EXPECT_FALSE(batch.IsNull(batch.IndexOf("amount"), 1)) << "not nullable";
}

}  // namespace batch_test
}  // namespace reveza::fraudgen
