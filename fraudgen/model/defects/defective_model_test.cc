#include "fraudgen/model/defects/defective_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen {
namespace defective_model_test {

using Row = std::vector<std::string>;

constexpr uint64_t kRows = 9'000;

// All rows of each table, block by block, as texts; numbers written as text are prefixed by "text
// ".
class Rows final : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      Row& texts = tables[std::string(batch.table().name)].emplace_back();
      for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
        const bool as_text = !batch.column(i).present.empty() &&
                             batch.column(i).present[row] == ColumnValues::kAsText;
        texts.push_back(batch.IsNull(i, row) ? "null"
                                             : (as_text ? "text " : "") + ValueText(batch, i, row));
      }
    }
    return {};
  }
  std::map<std::string, std::vector<Row>> tables;
};

std::unique_ptr<Model> Sound(bool coherent) {
  if (coherent) {
    coherent::Parameters parameters;
    parameters.rows = kRows;
    parameters.customers = 60;
    parameters.rows_per_block = 3'500;
    return *coherent::CoherentModel::Make(parameters);
  }
  return classic::ClassicModel::Make({.kind = classic::Kind::kAll,
                                      .seed = 5,
                                      .transactions = kRows,
                                      .rides = 4'000,
                                      .customers = 300,
                                      .start = {2025, 1, 1},
                                      .end = {2025, 12, 31},
                                      .as_of = {2025, 12, 31},
                                      .rows_per_block = 3'500});
}

DefectiveModel Broken(bool coherent, bool numbers_as_text = true,
                      uint64_t billionths = 20'000'000) {
  DefectOptions options{.seed = 5, .rates = {}, .numbers_as_text = numbers_as_text};
  for (Share& share : options.rates.of) share.billionths = billionths;
  return {Sound(coherent), options};
}

Rows RowsOf(const Model& model) {
  Rows rows;
  for (uint64_t block = 0; block < model.blocks(); ++block) {
    EXPECT_TRUE(model.Make(block, model.tables(), rows));
  }
  return rows;
}

// Undoes the defects listed in the answer key.
std::vector<Row> Mended(const std::vector<Row>& rows, const std::vector<Row>& key,
                        const std::string& table, const Table& columns) {
  std::vector<Row> mended;
  std::vector<std::pair<std::size_t, Row>> moved;
  std::map<std::size_t, const Row*> defects;
  for (const Row& entry : key) {
    if (entry[0] != table) continue;
    EXPECT_TRUE(defects.emplace(std::stoull(entry[3]), &entry).second) << entry[3];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = defects.find(i + 1);
    if (found == defects.end()) {
      mended.push_back(rows[i]);
      continue;
    }
    const Row& entry = *found->second;
    EXPECT_EQ(rows[i][0], entry[1]);
    if (entry[2] == "duplicate") continue;
    if (entry[2] == "late" || entry[2] == "outoforder") {
      moved.emplace_back(std::stoull(entry[4]), rows[i]);
      EXPECT_EQ(entry[5], "null");
      continue;
    }
    Row right = rows[i];
    const auto column = std::ranges::find(columns.columns, entry[5], &Column::name);
    std::string& value = right[static_cast<std::size_t>(column - columns.columns.begin())];
    if (entry[2] == "null") {
      EXPECT_EQ(value, "null");
    } else {
      EXPECT_EQ(value, column->type == ColumnType::kCategory ? std::string(kUnknownValue)
                                                             : "text " + entry[6]);
    }
    value = entry[6];
    mended.push_back(right);
  }
  std::ranges::sort(moved);
  for (const auto& [position, row] : moved) {
    mended.insert(mended.begin() + static_cast<std::ptrdiff_t>(position - 1), row);
  }
  return mended;
}

class DefectiveModelTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OfModels, DefectiveModelTest, testing::Bool(),
                         [](const auto& model) { return model.param ? "Coherent" : "Classic"; });

TEST_P(DefectiveModelTest, AnswerKeyRestoresTheOriginal) {
  const auto sound = Sound(GetParam());
  const DefectiveModel broken = Broken(GetParam());
  Rows right = RowsOf(*sound);
  Rows wrong = RowsOf(broken);
  for (const Table* table : sound->tables()) {
    const std::string name(table->name);
    if (std::ranges::find(kBreakableTables, name) == kBreakableTables.end()) {
      EXPECT_EQ(wrong.tables[name], right.tables[name]) << name;
      continue;
    }
    EXPECT_NE(wrong.tables[name], right.tables[name]) << name;
    EXPECT_EQ(Mended(wrong.tables[name], wrong.tables["defects"], name, *table), right.tables[name])
        << name;
  }
}

TEST_P(DefectiveModelTest, RowsOfMatchesTheRowsMade) {
  const DefectiveModel broken = Broken(GetParam());
  for (uint64_t block = 0; block < broken.blocks(); ++block) {
    Rows rows;
    ASSERT_TRUE(broken.Make(block, broken.tables(), rows));
    for (const Table* table : broken.tables()) {
      const uint64_t expected = broken.RowsOf(*table, block);
      const uint64_t made = rows.tables[std::string(table->name)].size();
      EXPECT_TRUE(expected == 0 || made == expected)
          << table->name << ": " << made << ", expected " << expected;
    }
  }
  std::map<std::string, std::size_t> kinds;
  Rows all = RowsOf(broken);
  for (const Row& entry : all.tables["defects"]) {
    if (entry[0] == "transactions") ++kinds[entry[2]];
  }
  EXPECT_EQ(kinds.size(), 5u);
  for (const auto& [kind, count] : kinds) EXPECT_EQ(count, kRows / 50) << kind;
}

TEST_P(DefectiveModelTest, RowsDoNotDependOnOtherWantedTables) {
  const DefectiveModel broken = Broken(GetParam());
  for (uint64_t block = 0; block < broken.blocks(); ++block) {
    Rows all;
    ASSERT_TRUE(broken.Make(block, broken.tables(), all));
    for (const Table* table : broken.tables()) {
      Rows alone;
      ASSERT_TRUE(broken.Make(block, std::span(&table, 1), alone));
      ASSERT_LE(alone.tables.size(), 1u);
      EXPECT_EQ(alone.tables[std::string(table->name)], all.tables[std::string(table->name)])
          << table->name;
    }
  }
}

TEST_P(DefectiveModelTest, NumbersStayNumbersInTypedFormats) {
  Rows columnar = RowsOf(Broken(GetParam(), /*numbers_as_text=*/false));
  Rows text = RowsOf(Broken(GetParam()));
  std::set<std::string> columns;
  const auto& key = columnar.tables["defects"];
  const auto& other = text.tables["defects"];
  ASSERT_EQ(key.size(), other.size());
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i][2] == "schema") columns.insert(key[i][5]);
    // The same rows and kinds; only the column may differ.
    EXPECT_TRUE(std::equal(key[i].begin(), key[i].begin() + 5, other[i].begin()));
  }
  EXPECT_TRUE(columns.contains("type") || columns.contains("channel"));
  EXPECT_FALSE(columns.contains("amount"));
}

TEST_P(DefectiveModelTest, LateRowsAreFarBehindAndKeysIntact) {
  Rows rows = RowsOf(Broken(GetParam(), true, DefectRates::kMaxShare.billionths));
  std::map<std::string, std::set<int64_t>> behind;
  for (const Row& entry : rows.tables["defects"]) {
    if (entry[0] != "transactions") continue;
    behind[entry[2]].insert(std::stoll(entry[3]) - std::stoll(entry[4]));
  }
  EXPECT_GT(*behind["late"].rbegin(), 1'000);
  EXPECT_EQ(behind.size(), 5u);
  // Key, timestamp and label are never damaged.
  for (const Row& entry : rows.tables["defects"]) {
    EXPECT_NE(entry[5], "transaction_id");
    EXPECT_NE(entry[5], "timestamp");
    EXPECT_NE(entry[5], "is_fraud");
  }
}

TEST(DefectiveModel, UnknownValueIsNotARegularCategory) {
  for (const bool coherent : {false, true}) {
    const auto model = Sound(coherent);
    for (const Table* table : model->tables()) {
      for (const Column& column : table->columns) {
        EXPECT_EQ(std::ranges::find(column.values, kUnknownValue), column.values.end());
      }
    }
  }
}

}  // namespace defective_model_test
}  // namespace reveza::fraudgen
