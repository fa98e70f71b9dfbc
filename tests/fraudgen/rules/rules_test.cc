// The rows of the models keep the rules of the column documentation.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/graph/graph_model.h"
#include "tests/fraudgen/rules/table_check.h"

namespace reveza::fraudgen::rules {
namespace rules_test {

constexpr uint64_t kRows = 9'000;
constexpr uint64_t kBlockRows = 4'500;

using Block = std::map<std::string_view, std::vector<Batch>>;  // by table

coherent::Parameters Parameters(uint64_t seed, bool rides) {
  coherent::Parameters parameters;
  parameters.seed = seed;
  (rides ? parameters.rides : parameters.rows) = kRows;
  (rides ? parameters.rows : parameters.rides) = 0;
  parameters.customers = 150;
  parameters.frauds = {.billionths = 40'000'000};
  parameters.rows_per_block = kBlockRows;
  parameters.sessions = !rides;
  return parameters;
}

std::unique_ptr<Model> Coherent(uint64_t seed, bool rides = false) {
  auto made = coherent::CoherentModel::Make(Parameters(seed, rides));
  EXPECT_TRUE(made) << made.error().message;
  if (rides) return *std::move(made);
  return std::make_unique<GraphModel>(*std::move(made));
}

std::unique_ptr<Model> Classic(uint64_t seed) {
  return classic::ClassicModel::Make({.kind = classic::Kind::kAll,
                                      .seed = seed,
                                      .transactions = kRows,
                                      .rides = kRows,
                                      .customers = 150,
                                      .frauds = {.billionths = 40'000'000},
                                      .start = {2025, 1, 1},
                                      .end = {2025, 12, 31},
                                      .as_of = {2026, 1, 1},
                                      .rows_per_block = kBlockRows});
}

std::vector<Block> BlocksOf(const Model& model) {
  std::vector<Block> blocks(model.blocks());
  for (uint64_t i = 0; i < model.blocks(); ++i) {
    FunctionSink sink([&](const Batch& batch) -> Status {
      blocks[i][batch.table().name].push_back(batch);
      return {};
    });
    EXPECT_TRUE(model.Make(i, model.tables(), sink));
  }
  return blocks;
}

// Passes the rows of a table to all checks.
void Pass(const Block& block, std::string_view table, uint64_t number,
          const std::vector<std::unique_ptr<TableCheck>>& checks) {
  const auto batches = block.find(table);
  if (batches == block.end()) return;
  Position position{.block = number};
  for (const Batch& batch : batches->second) {
    for (const auto& check : checks) check->Add(batch, position);
    position.first_row += batch.rows();
  }
}

// Returns the tallies of all rules for these rows.
Tallies Judge(const Model& model, const std::vector<Block>& blocks, bool coherent) {
  std::vector<std::unique_ptr<TableCheck>> checks;
  checks.push_back(CheckKeys(coherent));
  checks.push_back(CheckCpfs());
  checks.push_back(CheckLabels());
  checks.push_back(coherent ? CheckCoherentRules() : CheckClassicRules());
  if (coherent) checks.push_back(CheckTimeline());
  if (coherent) checks.push_back(CheckGraph());
  // Referenced tables come first: in the classic model of all blocks.
  std::vector<std::string_view> order;
  for (const Table* table : model.tables()) order.push_back(table->name);
  std::ranges::stable_partition(
      order, [](std::string_view name) { return name != "transactions" && name != "rides"; });
  if (coherent) {
    for (uint64_t i = 0; i < blocks.size(); ++i) {
      for (const std::string_view table : order) Pass(blocks[i], table, i, checks);
      for (const auto& check : checks) check->EndBlock();
    }
  } else {
    for (const std::string_view table : order) {
      for (uint64_t i = 0; i < blocks.size(); ++i) Pass(blocks[i], table, i, checks);
    }
  }
  Tallies tallies;
  for (const auto& check : checks) check->Report(tallies);
  return tallies;
}

void ExpectKept(const Model& model, bool coherent, std::size_t min_rules) {
  const Tallies tallies = Judge(model, BlocksOf(model), coherent);
  EXPECT_GE(tallies.size(), min_rules);
  for (const Tally& tally : tallies)
    EXPECT_EQ(tally.failed(), 0u) << tally.name() << ": " << tally.first();
}

TEST(Rules, CoherentRowsKeepThem) {
  for (const uint64_t seed : {1, 2, 3}) ExpectKept(*Coherent(seed), true, 50);
}

TEST(Rules, CoherentRidesKeepThem) {
  for (const uint64_t seed : {1, 2, 3}) ExpectKept(*Coherent(seed, true), true, 35);
}

TEST(Rules, ClassicRowsKeepThem) { ExpectKept(*Classic(1), false, 30); }

// Replaces the texts of a column.
template <typename TextOf>
void ReplaceTexts(std::size_t rows, const TextOf& text_of, ColumnValues& values) {
  const ColumnValues before = values;
  values.keys.clear();
  values.bytes.clear();
  values.ends.clear();
  for (std::size_t row = 0; row < rows; ++row) values.AppendText(text_of(before, row));
}

// Gives rows of a column values of other rows.
Batch Mixed(const Batch& from, std::size_t column) {
  Batch batch = from;
  ColumnValues& values = batch.column(column);
  const std::size_t rows = from.rows();
  const auto source_of = [&](std::size_t row) { return rows < 4 ? 0 : row * row % rows; };
  const auto mix = [&](auto& to) {
    const auto before = to;
    for (std::size_t row = 0; row < std::min(rows, to.size()); ++row) {
      to[row] = before[source_of(row)];
    }
  };
  mix(values.present);
  mix(values.numbers);
  mix(values.codes);
  mix(values.flags);
  if (from.table().columns[column].type != ColumnType::kText) return batch;
  ReplaceTexts(
      rows,
      [&](const ColumnValues& before, std::size_t row) { return before.TextAt(source_of(row)); },
      values);
  return batch;
}

// Gives a column values that no row has: numbers and flags change, and texts by `change`.
template <typename Change>
Batch Spoilt(const Batch& from, std::size_t column, const Change& change) {
  Batch batch = from;
  ColumnValues& values = batch.column(column);
  for (int64_t& number : values.numbers) number = -1'000'000 - number;
  for (uint8_t& flag : values.flags) flag = flag == 0 ? 1 : 0;
  if (from.table().columns[column].type != ColumnType::kText) return batch;
  ReplaceTexts(
      from.rows(),
      [&](const ColumnValues& before, std::size_t row) {
        return change(std::string(before.TextAt(row)));
      },
      values);
  return batch;
}
Batch WithOtherEnds(const Batch& from, std::size_t column) {
  return Spoilt(from, column, [](std::string text) {
    if (!text.empty()) text.back() = text.back() == '7' ? '1' : '7';
    return text;
  });
}
Batch Longer(const Batch& from, std::size_t column) {
  return Spoilt(from, column, [](const std::string& text) { return "9" + text; });
}

// Leaves a column without values where it may have none.
Batch Emptied(const Batch& from, std::size_t column) {
  Batch batch = from;
  std::ranges::fill(batch.column(column).present, uint8_t{0});
  return batch;
}

// Returns the rules that no wrong column of any table breaks.
std::set<std::string> UnbrokenRules(const Model& model, bool coherent) {
  std::vector<Block> blocks = BlocksOf(model);
  std::set<std::string> unbroken;
  for (const Tally& tally : Judge(model, blocks, coherent)) {
    if (tally.checked() > 0) unbroken.insert(tally.name());
  }
  for (const Table* table : model.tables()) {
    const auto batches = blocks[0].find(table->name);
    if (batches == blocks[0].end() || batches->second.empty()) continue;
    for (std::size_t column = 0; column < table->columns.size(); ++column) {
      for (const auto& damage : {Mixed, WithOtherEnds, Longer, Emptied}) {
        Batch damaged = damage(batches->second.front(), column);
        std::swap(batches->second.front(), damaged);
        for (const Tally& tally : Judge(model, blocks, coherent)) {
          if (tally.failed() > 0) unbroken.erase(tally.name());
        }
        std::swap(batches->second.front(), damaged);
      }
    }
  }
  return unbroken;
}

// Each rule fails if the values of some column are wrong.
TEST(Rules, WrongColumnsBreakThem) {
  EXPECT_EQ(UnbrokenRules(*Coherent(3), true), std::set<std::string>());
  EXPECT_EQ(UnbrokenRules(*Coherent(3, true), true), std::set<std::string>());
  EXPECT_EQ(UnbrokenRules(*Classic(1), false), std::set<std::string>());
}

}  // namespace rules_test
}  // namespace reveza::fraudgen::rules
