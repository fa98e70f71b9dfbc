#include "fraudgen/run/direct_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fraudgen/output/byte_stream.h"
#include "fraudgen/run/testing_model.h"

namespace reveza::fraudgen {
namespace direct_output_test {

constexpr TableOptions kCsv = {.format = Format::kCsv};

TEST(WriteOneFile, WritesAllBlocksWithOneHeader) {
  const TestingModel model(1, 2500, 1000);
  const auto plan = Plan::Make(model, Format::kCsv, 100, Shard{});
  MemorySink sink;
  uint64_t calls = 0;
  Progress last;
  const auto written =
      WriteOneFile(model, *plan, kTestingPayments, kCsv, sink, [&](const Progress& now) {
        last = now;
        return ++calls > 0;
      });
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(last.rows, 2500u);
  EXPECT_EQ(last.rows_made, 2500u);
  EXPECT_LE(last.bytes_made, sink.bytes().size());
  EXPECT_TRUE(sink.finished());
  EXPECT_GT(calls, 3u);
  EXPECT_EQ(std::ranges::count(sink.bytes(), '\n'), 2501);
  EXPECT_TRUE(sink.bytes().starts_with("payment_id,"));
  EXPECT_NE(sink.bytes().find("\nTXN_00002499,"), std::string::npos);
}

TEST(WriteOneFile, StopsWhenCallbackReturnsFalse) {
  const TestingModel model(1, 2500, 1000);
  const auto plan = Plan::Make(model, Format::kCsv, 100, Shard{});
  MemorySink sink;
  uint64_t rows = 0;
  const auto written =
      WriteOneFile(model, *plan, kTestingPayments, kCsv, sink, [&](const Progress& now) {
        rows = now.rows;
        return rows < 1200;
      });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Error::Code::kUnavailable);
  EXPECT_GE(rows, 1200u);
  EXPECT_LT(rows, 2500u);
  EXPECT_FALSE(sink.finished());
}

TEST(WriteOneFile, ReturnsErrorOfSink) {
  class Full final : public ByteSink {
   public:
    Status Append(std::string_view) override { return Fail(Error::Code::kExhausted, "full"); }
    Status Finish() override { return {}; }
  };
  const TestingModel model(1, 100'000, 50'000);
  const auto plan = Plan::Make(model, Format::kCsv, 100, Shard{});
  Full sink;
  const auto written = WriteOneFile(model, *plan, kTestingPayments, kCsv, sink,
                                    [](const Progress&) { return true; });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Error::Code::kExhausted);
}

TEST(Sample, ReturnsFirstRowsOfEachTable) {
  const TestingModel model(1, 1000, 1000);
  const auto samples = Sample(model, 5);
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->size(), 2u);
  const TableSample& people = samples->at(0);
  EXPECT_EQ(people.table, &kTestingPeople);
  ASSERT_EQ(people.rows.size(), 5u);
  EXPECT_EQ(people.rows[0], (std::vector<std::string>{"P0", "null"}));
  EXPECT_EQ(people.rows[1], (std::vector<std::string>{"P1", "São Luís"}));
  const TableSample& payments = samples->at(1);
  ASSERT_EQ(payments.rows.size(), 5u);
  EXPECT_EQ(payments.rows[3][0], "TXN_00000003");
  EXPECT_EQ(payments.rows[3][1], "1970-01-01T00:00:03.000000");
  EXPECT_EQ(payments.rows[3][3], "PIX");
  EXPECT_EQ(payments.rows[3][4], "false");
  EXPECT_EQ(payments.rows[0][4], "null");
}

TEST(Sample, ReturnsAllRowsOfShortTables) {
  const TestingModel model(1, 8, 1000);
  const auto samples = Sample(model, 10);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->at(0).rows.size(), 7u);
  EXPECT_EQ(samples->at(1).rows.size(), 8u);
  const TestingModel empty(1, 0, 1000);
  EXPECT_TRUE(Sample(empty, 10)->at(0).rows.empty());
}

TEST(Sample, ReturnsErrorOfModel) {
  class Broken final : public Model {
   public:
    std::span<const Table* const> tables() const override { return whole_.tables(); }
    uint64_t blocks() const override { return 1; }
    uint64_t RowsOf(const Table&, uint64_t) const override { return 5; }
    Status Make(uint64_t, std::span<const Table* const>, BatchSink&) const override {
      return Fail(Error::Code::kInternal, "broken");
    }

   private:
    TestingModel whole_{1, 5, 5};
  };
  const auto samples = Sample(Broken(), 3);
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "broken");
}

}  // namespace direct_output_test
}  // namespace reveza::fraudgen
