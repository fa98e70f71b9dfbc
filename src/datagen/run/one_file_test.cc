#include "datagen/run/one_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "datagen/output/memory_sink.h"
#include "datagen/run/testing_model.h"

namespace reveza::datagen {
namespace {

constexpr TableOptions kCsv = {.format = Format::kCsv};

TEST(WriteOneFile, HasAllBlocksAndOneHead) {
  const TestingModel model(1, 2500, 1000);
  const auto plan = Plan::Make(model, Format::kCsv, 100, Shard{});
  MemorySink sink;
  uint64_t calls = 0;
  const auto written = WriteOneFile(model, *plan, kTestingPayments, kCsv, sink,
                                    [&](const OneFileProgress&) { return ++calls > 0; });
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->rows, 2500u);
  EXPECT_EQ(written->bytes, sink.bytes().size());
  EXPECT_TRUE(sink.finished());
  EXPECT_GT(calls, 3u);
  EXPECT_EQ(std::ranges::count(sink.bytes(), '\n'), 2501);
  EXPECT_TRUE(sink.bytes().starts_with("payment_id,"));
  EXPECT_NE(sink.bytes().find("\nTXN_00002499,"), std::string::npos);
}

TEST(WriteOneFile, StopsWhenItIsTold) {
  const TestingModel model(1, 2500, 1000);
  const auto plan = Plan::Make(model, Format::kCsv, 100, Shard{});
  MemorySink sink;
  const auto written = WriteOneFile(model, *plan, kTestingPayments, kCsv, sink,
                                    [](const OneFileProgress& now) { return now.rows < 1200; });
  ASSERT_TRUE(written);
  EXPECT_GE(written->rows, 1200u);
  EXPECT_LT(written->rows, 2500u);
  EXPECT_FALSE(sink.finished());
}

TEST(WriteOneFile, PassesTheErrorOfTheSinkOn) {
  class Full final : public ByteSink {
   public:
    Status Append(std::string_view) override { return Fail(Error::Code::kExhausted, "full"); }
    Status Finish() override { return {}; }
  };
  const TestingModel model(1, 100'000, 50'000);
  const auto plan = Plan::Make(model, Format::kCsv, 100, Shard{});
  Full sink;
  const auto written = WriteOneFile(model, *plan, kTestingPayments, kCsv, sink,
                                    [](const OneFileProgress&) { return true; });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Error::Code::kExhausted);
}

}  // namespace
}  // namespace reveza::datagen
