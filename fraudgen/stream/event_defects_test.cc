#include "fraudgen/stream/event_defects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "fraudgen/output/byte_stream.h"
#include "fraudgen/stream/testing_events.h"

namespace reveza::fraudgen {
namespace event_defects_test {

constexpr std::array<Column, 3> kColumns = {{
    {"transaction_id", ColumnType::kText, 0, "", Nullable::kNo, "", "", "", {}},
    {"timestamp", ColumnType::kTimestamp, 0, "", Nullable::kNo, "", "", "", {}},
    {"amount", ColumnType::kDecimal, 2, "BRL", Nullable::kNo, "", "", "", {}},
}};
constexpr Table kPayments = {"transactions", "", "", kColumns};

// A model with blocks of a hundred rows, for counting only.
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
  auto corruptor = EventCorruptor::Make({.format = Format::kJsonLines}, defects, first_row);
  EXPECT_TRUE(corruptor);
  std::vector<std::string> lines;
  for (uint64_t row = first_row.value_or(0); row < 2'000; ++row) {
    const Batch batch = Row(row);
    TextBuffer line;
    const auto defect = (*corruptor)->Next(batch, 0, line);
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

TEST(EventCorruptorTest, DamagesTheLine) {
  const auto nulls = Damaged(DefectKind::kNull, 0);
  ASSERT_EQ(nulls.size(), 200u) << "a tenth of each block";
  EXPECT_NE(nulls.front().find("\"amount\":null}\n"), std::string::npos) << nulls.front();
  const auto texts = Damaged(DefectKind::kSchema, 0);
  ASSERT_EQ(texts.size(), 200u);
  EXPECT_NE(texts.front().find("\"amount\":\"12,50\"}\n"), std::string::npos) << texts.front();
}

TEST(EventCorruptorTest, MarksDisplacedRows) {
  for (const std::string& line : Damaged(DefectKind::kLate, 0)) EXPECT_EQ(line, "");
  EXPECT_EQ(Damaged(DefectKind::kDuplicate, 0).size(), 200u);
}

TEST(EventCorruptorTest, DefectsDoNotDependOnTheSource) {
  const auto all = Damaged(DefectKind::kNull, 0);
  const auto second_half = Damaged(DefectKind::kNull, 1'000);
  EXPECT_EQ(second_half, std::vector<std::string>(all.begin() + 100, all.end()));
  EXPECT_EQ(Damaged(DefectKind::kNull, std::nullopt), all) << "by the identifiers";
}

TEST(EventKeySinkTest, RecordsAcceptedEvents) {
  TestingStreamClock clock;
  TestingSink sink(clock);
  sink.max_per_send = 2;
  MemorySink key;
  auto key_sink = EventKeySink::Make(sink, "rides", key);
  ASSERT_TRUE(key_sink);
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
  EXPECT_EQ((*key_sink)->Send(events), 2u);
  EXPECT_EQ(key.bytes(),
            "{\"table_name\":\"rides\",\"row_id\":\"R2\",\"kind\":\"null\",\"position\":2,"
            "\"original_position\":1,\"column_name\":\"amount\",\"right_value\":\"12.50\"}\n");
  EXPECT_EQ((*key_sink)->Send(std::span(events).subspan(2)), 1u);
  EXPECT_NE(key.bytes().find("\"row_id\":\"R3\",\"kind\":\"late\",\"position\":3,"
                             "\"original_position\":5,\"column_name\":null"),
            std::string::npos)
      << key.bytes();
  EXPECT_EQ((*key_sink)->acknowledged(), 3u);
}

// Events a, b, c..., one per second.
class Alphabet final : public EventFeed {
 public:
  Alphabet(std::size_t letters, std::map<char, EventDefect> defects, std::size_t at_once)
      : letters_(letters), defects_(std::move(defects)), at_once_(at_once) {}

  Status Next(std::size_t max_events, std::vector<Event>& events) override {
    // Invalidates previous events.
    batch_.Clear();
    events.clear();
    const std::size_t end = std::min(letters_, next_ + std::min(max_events, at_once_));
    for (; next_ < end; ++next_) {
      const char letter = static_cast<char>('a' + next_);
      const std::string id(1, letter);
      const auto defect = defects_.find(letter);
      batch_.Add({.time = static_cast<int64_t>(next_),
                  .id = id,
                  .key = id,
                  .line = id + "\n",
                  .defect = defect == defects_.end() ? nullptr : &defect->second});
    }
    for (std::size_t i = 0; i < batch_.size(); ++i) events.push_back(batch_.At(i));
    return {};
  }

 private:
  std::size_t letters_;
  std::map<char, EventDefect> defects_;
  std::size_t at_once_;
  std::size_t next_ = 0;
  EventBatch batch_;
};

struct Read {
  std::string lines;
  std::vector<int64_t> times;
  std::map<std::string, uint64_t> originals;  // of defective events
};

Read All(std::map<char, EventDefect> defects, std::size_t max_events = 5, std::size_t at_once = 3) {
  Alphabet alphabet(10, std::move(defects), at_once);
  DisplacedEvents displaced(alphabet);
  Read read;
  std::vector<Event> events;
  while (displaced.Next(max_events, events) && !events.empty()) {
    EXPECT_LE(events.size(), max_events);
    for (const Event& event : events) {
      read.lines += event.record();
      read.times.push_back(event.time);
      if (event.defect != nullptr) {
        read.originals[std::string(event.id)] = event.defect->original_position;
      }
    }
  }
  return read;
}

TEST(DisplacedEventsTest, PassesEventsWithoutDefects) {
  const Read read = All({});
  EXPECT_EQ(read.lines, "abcdefghij");
  EXPECT_EQ(read.times, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(DisplacedEventsTest, DelaysLateEvents) {
  const Read read = All({{'b', {.kind = DefectKind::kLate, .rows_later = 4}},
                         {'d', {.kind = DefectKind::kOutOfOrder, .rows_later = 1}}});
  EXPECT_EQ(read.lines, "acedfgbhij");
  // The time of sending, not of the event.
  EXPECT_EQ(read.times, (std::vector<int64_t>{0, 2, 4, 4, 5, 6, 6, 7, 8, 9}));
  EXPECT_EQ(read.originals, (std::map<std::string, uint64_t>{{"b", 1}, {"d", 3}}));
}

TEST(DisplacedEventsTest, MarksSecondCopyAsDuplicate) {
  const Read read = All({{'c', {.kind = DefectKind::kDuplicate, .rows_later = 0}},
                         {'e', {.kind = DefectKind::kDuplicate, .rows_later = 2}}});
  EXPECT_EQ(read.lines, "abccdefgehij");
  EXPECT_EQ(read.originals, (std::map<std::string, uint64_t>{{"c", 2}, {"e", 4}}));
}

TEST(DisplacedEventsTest, KeepsOrderOfDamagedEvents) {
  const Read read = All({{'a', {.kind = DefectKind::kLate, .rows_later = 2}},
                         {'c', {.kind = DefectKind::kNull, .column = "amount"}}});
  EXPECT_EQ(read.lines, "bcadefghij");
  EXPECT_EQ(read.originals, (std::map<std::string, uint64_t>{{"a", 0}, {"c", 2}}));
}

TEST(DisplacedEventsTest, FlushesDelayedEventsAtTheEnd) {
  const Read read = All({{'h', {.kind = DefectKind::kLate, .rows_later = 500}},
                         {'i', {.kind = DefectKind::kLate, .rows_later = 100}}});
  EXPECT_EQ(read.lines, "abcdefgjih");
}

TEST(DisplacedEventsTest, ResultDoesNotDependOnBatchSize) {
  const std::map<char, EventDefect> defects = {
      {'a', {.kind = DefectKind::kLate, .rows_later = 3}},
      {'b', {.kind = DefectKind::kDuplicate, .rows_later = 1}},
      {'f', {.kind = DefectKind::kLate, .rows_later = 100}}};
  const std::string wanted = All(defects).lines;
  for (std::size_t max_events = 1; max_events < 13; ++max_events) {
    for (std::size_t at_once = 1; at_once < 12; at_once += 5) {
      EXPECT_EQ(All(defects, max_events, at_once).lines, wanted) << max_events << ", " << at_once;
    }
  }
}

}  // namespace event_defects_test
}  // namespace reveza::fraudgen
