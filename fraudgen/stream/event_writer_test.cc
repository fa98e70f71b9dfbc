#include "fraudgen/stream/event_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen {
namespace event_writer_test {

constexpr std::array<Column, 4> kColumns = {{
    {"transaction_id", ColumnType::kText, 0, "", Nullable::kNo, "", "", "", {}},
    {"customer_id", ColumnType::kText, 0, "", Nullable::kNo, "", "", "", {}},
    {"timestamp", ColumnType::kTimestamp, 0, "", Nullable::kNo, "", "", "", {}},
    {"amount", ColumnType::kDecimal, 2, "BRL", Nullable::kNo, "", "", "", {}},
}};
constexpr Table kPayments = {"transactions", "", "", kColumns};

struct Payment {
  int64_t time;
  std::string id;
};

Batch BatchOf(const std::vector<Payment>& payments) {
  Batch batch(kPayments);
  batch.Begin(payments.size());
  for (std::size_t row = 0; row < payments.size(); ++row) {
    batch.column(0).AppendText(payments[row].id);
    batch.column(1).AppendText("C" + std::to_string(row));
    batch.column(2).numbers[row] = payments[row].time;
    batch.column(3).numbers[row] = 1'250;
  }
  return batch;
}

EventWriter WriterOf(EventKey key) {
  auto writer = EventWriter::Make({.format = Format::kJsonLines}, *EventTable::Of(kPayments, key));
  EXPECT_TRUE(writer);
  return *std::move(writer);
}

std::string IdsOf(const EventBatch& events) {
  std::string ids;
  for (std::size_t i = 0; i < events.size(); ++i) ids += events.At(i).id;
  return ids;
}

TEST(EventWriterTest, EventHasLineIdAndKey) {
  EventWriter writer = WriterOf(EventKey::kCustomer);
  const Batch batch = BatchOf({{1'000'000, "A"}, {2'000'000, "B"}});
  EventBatch events;
  writer.Begin(batch);
  ASSERT_TRUE(writer.Write(0, 2, events));
  ASSERT_EQ(events.size(), 1u) << "the last time may continue in the next batch";
  const Event event = events.At(0);
  EXPECT_EQ(event.time, 1'000'000);
  EXPECT_EQ(event.id, "A");
  EXPECT_EQ(event.key, "C0");
  EXPECT_EQ(event.line,
            "{\"transaction_id\":\"A\",\"customer_id\":\"C0\","
            "\"timestamp\":\"1970-01-01T00:00:01.000000\",\"amount\":12.50}\n");
  EXPECT_EQ(event.record(), event.line.substr(0, event.line.size() - 1));
  writer.Finish(events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events.At(0).id, "B");
}

TEST(EventWriterTest, OrdersEqualTimesAcrossBatches) {
  EventWriter writer = WriterOf(EventKey::kCustomer);
  EventBatch events;
  const Batch one = BatchOf({{1, "b"}, {1, "a"}, {2, "z"}, {3, "m"}});
  writer.Begin(one);
  ASSERT_TRUE(writer.Write(0, 2, events));
  EXPECT_EQ(IdsOf(events), "");
  ASSERT_TRUE(writer.Write(2, 4, events));
  EXPECT_EQ(IdsOf(events), "abz");
  const Batch two = BatchOf({{3, "k"}, {3, "x"}});
  writer.Begin(two);
  ASSERT_TRUE(writer.Write(0, 2, events));
  EXPECT_EQ(IdsOf(events), "") << "held back";
  const Batch three = BatchOf({{3, "c"}, {4, "a"}});
  writer.Begin(three);
  ASSERT_TRUE(writer.Write(0, 2, events));
  EXPECT_EQ(IdsOf(events), "ckmx");
  writer.Finish(events);
  EXPECT_EQ(IdsOf(events), "a");
  writer.Finish(events);
  EXPECT_EQ(events.size(), 0u);
}

TEST(EventWriterTest, RejectsRowsOutOfOrder) {
  EventWriter writer = WriterOf(EventKey::kCustomer);
  EventBatch events;
  const Batch batch = BatchOf({{5, "a"}, {4, "b"}});
  writer.Begin(batch);
  const Status status = writer.Write(0, 2, events);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "row b of transactions is not in order of time");
}

TEST(EventWriterTest, KeyIsCustomerRowOrNone) {
  for (const auto& [key, wanted] :
       {std::pair{EventKey::kCustomer, "C0"}, std::pair{EventKey::kRow, "A"},
        std::pair{EventKey::kNone, ""}}) {
    EventWriter writer = WriterOf(key);
    EventBatch events;
    const Batch batch = BatchOf({{1, "A"}});
    writer.Begin(batch);
    ASSERT_TRUE(writer.Write(0, 1, events));
    writer.Finish(events);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events.At(0).key, wanted);
  }
}

TEST(EventTableTest, AcceptsTransactionsAndRides) {
  for (const Table* table : {&kTransactions, &kRides, &coherent::kTransactions}) {
    const auto found = EventTable::Of(*table, EventKey::kCustomer);
    ASSERT_TRUE(found) << table->name;
    EXPECT_EQ(table->columns[found->time].name, "timestamp");
    EXPECT_EQ(table->columns[found->id].name.substr(4), table == &kRides ? "_id" : "saction_id");
  }
  EXPECT_EQ(kRides.columns[EventTable::Of(kRides, EventKey::kCustomer)->key].name, "passenger_id");
  const auto wrong = EventTable::Of(kDevices, EventKey::kCustomer);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "cannot stream the table devices; expected transactions or rides");
}

}  // namespace event_writer_test
}  // namespace reveza::fraudgen
