#include "datagen/stream/event_spoiler.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "datagen/output/memory_sink.h"
#include "datagen/stream/event_key_sink.h"
#include "datagen/stream/testing_events.h"

namespace reveza::datagen {
namespace {

constexpr std::array<Column, 3> kColumns = {{
    {"transaction_id", ColumnType::kText, 0, "", Nullable::kNo, "", "", "", {}},
    {"timestamp", ColumnType::kTimestamp, 0, "", Nullable::kNo, "", "", "", {}},
    {"amount", ColumnType::kDecimal, 2, "BRL", Nullable::kNo, "", "", "", {}},
}};
constexpr Table kPayments = {"transactions", "", "", kColumns};

// Blocks of a hundred rows; it only counts.
class Counts final : public Model {
 public:
  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return 20; }
  uint64_t RowsOf(const Table& /*table*/, uint64_t /*block*/) const override { return 100; }
  Status Make(uint64_t /*block*/, std::span<const Table* const> /*wanted*/,
              BatchSink& /*sink*/) const override {
    return {};
  }

 private:
  std::array<const Table*, 1> tables_ = {&kPayments};
};

Batch Row(uint64_t number) {
  Batch batch(kPayments);
  batch.Begin(1);
  batch.column(0).AppendText("TXN_" + std::to_string(1'000'000 + number).substr(1));
  batch.column(1).numbers[0] = static_cast<int64_t>(number);
  batch.column(2).numbers[0] = 1'250;
  return batch;
}

DefectOptions OnlyOf(DefectKind kind) {
  DefectOptions options{.seed = 7, .rates = {}, .numbers_as_text = true};
  options.rates.Of(kind) = {.billionths = Share::kWhole / 10};
  return options;
}

std::vector<std::string> Damaged(DefectKind kind, std::optional<uint64_t> first_row) {
  const Counts model;
  const RowDefects defects(model, kPayments, OnlyOf(kind));
  auto spoiler = EventSpoiler::Make({.format = Format::kJsonLines}, defects, first_row);
  EXPECT_TRUE(spoiler);
  std::vector<std::string> lines;
  for (uint64_t row = first_row.value_or(0); row < 2'000; ++row) {
    const Batch batch = Row(row);
    TextBuffer line;
    const auto defect = (*spoiler)->Next(batch, 0, line);
    EXPECT_EQ(defect.has_value(), defects.At(row).has_value()) << row;
    if (!defect) {
      EXPECT_EQ(line.size(), 0u);
      continue;
    }
    EXPECT_EQ(defect->kind, kind);
    EXPECT_EQ(defect->column, line.size() == 0 ? "" : "amount");
    EXPECT_EQ(defect->right_value, line.size() == 0 ? "" : "12.50");
    lines.emplace_back(line.view());
  }
  return lines;
}

TEST(EventSpoilerTest, DamagesTheLineOfARow) {
  const auto nulls = Damaged(DefectKind::kNull, 0);
  ASSERT_EQ(nulls.size(), 200u) << "a tenth of each block";
  EXPECT_NE(nulls.front().find("\"amount\":null}\n"), std::string::npos) << nulls.front();
  const auto texts = Damaged(DefectKind::kSchema, 0);
  ASSERT_EQ(texts.size(), 200u);
  EXPECT_NE(texts.front().find("\"amount\":\"12,50\"}\n"), std::string::npos) << texts.front();
}

TEST(EventSpoilerTest, MarksWhatIsOutOfItsPlace) {
  for (const std::string& line : Damaged(DefectKind::kLate, 0)) EXPECT_EQ(line, "");
  EXPECT_EQ(Damaged(DefectKind::kDuplicate, 0).size(), 200u);
}

TEST(EventSpoilerTest, ASourceInTheMiddleHasTheSameRows) {
  const auto all = Damaged(DefectKind::kNull, 0);
  const auto second_half = Damaged(DefectKind::kNull, 1'000);
  EXPECT_EQ(second_half, std::vector<std::string>(all.begin() + 100, all.end()));
  EXPECT_EQ(Damaged(DefectKind::kNull, std::nullopt), all) << "by the identifiers";
}

TEST(EventKeySinkTest, WritesDownWhatWasTaken) {
  TestingStreamClock clock;
  TestingSink sink(clock);
  sink.most_at_once = 2;
  MemorySink key;
  auto noting = EventKeySink::Make(sink, "rides", key);
  ASSERT_TRUE(noting);
  const EventDefect late{.kind = DefectKind::kLate, .original_position = 4};
  const EventDefect null{.kind = DefectKind::kNull,
                         .column = "amount",
                         .right_value = "12.50",
                         .original_position = 0};
  const std::vector<Event> events = {
      {.id = "R1", .key = "", .line = "1\n"},
      {.id = "R2", .key = "", .line = "2\n", .defect = &null},
      {.id = "R3", .key = "", .line = "3\n", .defect = &late},
  };
  EXPECT_EQ((*noting)->Send(events), 2u);
  EXPECT_EQ(key.bytes(),
            "{\"table_name\":\"rides\",\"row_id\":\"R2\",\"kind\":\"null\",\"position\":2,"
            "\"original_position\":1,\"column_name\":\"amount\",\"right_value\":\"12.50\"}\n");
  EXPECT_EQ((*noting)->Send(std::span(events).subspan(2)), 1u);
  EXPECT_NE(key.bytes().find("\"row_id\":\"R3\",\"kind\":\"late\",\"position\":3,"
                             "\"original_position\":5,\"column_name\":null"),
            std::string::npos)
      << key.bytes();
  EXPECT_EQ((*noting)->confirmed(), 3u);
}

}  // namespace
}  // namespace reveza::datagen
