#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fraudgen/output/sinks.h"

namespace reveza::fraudgen {
namespace queued_sink_test {

constexpr std::size_t kPart = 10;

struct Seen {
  std::mutex mutex;
  std::vector<std::string> parts;
  bool finished = false;
  bool gone = false;
};

// Accepts parts when allowed, and fails from a given part on.
class SlowSink final : public ByteSink {
 public:
  SlowSink(Seen& seen, std::shared_future<void> may, std::size_t good)
      : seen_(seen), may_(std::move(may)), good_(good) {}
  ~SlowSink() override { seen_.gone = true; }

  Status Append(std::string_view bytes) override {
    may_.wait();
    const std::scoped_lock lock(seen_.mutex);
    if (seen_.parts.size() == good_) return Fail(Error::Code::kUnavailable, "disconnected");
    seen_.parts.emplace_back(bytes);
    return {};
  }
  Status Finish() override {
    seen_.finished = true;
    return {};
  }

 private:
  Seen& seen_;
  std::shared_future<void> may_;
  std::size_t good_;
};

class QueuedSinkTest : public testing::Test {
 protected:
  std::unique_ptr<QueuedSink> Make(std::size_t good = 1000) {
    return std::make_unique<QueuedSink>(
        std::make_unique<SlowSink>(seen_, may_.get_future().share(), good), kPart, 3);
  }

  Seen seen_;
  std::promise<void> may_;
};

TEST_F(QueuedSinkTest, PassesEqualPartsAndRest) {
  may_.set_value();
  const auto sink = Make();
  std::string all;
  for (int i = 0; i < 25; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i));
    ASSERT_TRUE(sink->Append(piece));
    all += piece;
  }
  ASSERT_TRUE(sink->Finish());
  EXPECT_TRUE(seen_.finished);
  std::string joined;
  for (std::size_t i = 0; i < seen_.parts.size(); ++i) {
    if (i + 1 < seen_.parts.size()) {
      EXPECT_EQ(seen_.parts[i].size(), kPart) << i;
    }
    joined += seen_.parts[i];
  }
  EXPECT_EQ(joined, all);
}

TEST_F(QueuedSinkTest, SplitsLargePieces) {
  may_.set_value();
  const auto sink = Make();
  ASSERT_TRUE(sink->Append(std::string(25, 'x')));
  ASSERT_TRUE(sink->Finish());
  EXPECT_EQ(seen_.parts, (std::vector<std::string>{std::string(10, 'x'), std::string(10, 'x'),
                                                   std::string(5, 'x')}));
}

TEST_F(QueuedSinkTest, FinishPassesSinglePart) {
  may_.set_value();
  const auto sink = Make();
  ASSERT_TRUE(sink->Append("0123456789"));
  EXPECT_TRUE(seen_.parts.empty());
  ASSERT_TRUE(sink->Finish());
  EXPECT_EQ(seen_.parts, std::vector<std::string>{"0123456789"});
}

TEST_F(QueuedSinkTest, AppendBlocksWhileFull) {
  const auto sink = Make();
  ASSERT_TRUE(sink->Append(std::string(3 * kPart, 'x')));
  auto more = std::async(std::launch::async, [&] { return sink->Append("y"); });
  EXPECT_EQ(more.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  may_.set_value();
  EXPECT_TRUE(more.get());
  ASSERT_TRUE(sink->Finish());
  EXPECT_EQ(seen_.parts.size(), 4U);
}

TEST_F(QueuedSinkTest, AppendReturnsEarlierError) {
  may_.set_value();
  const auto sink = Make(1);
  Status appended;
  for (int i = 0; i < 10 && appended; ++i) appended = sink->Append(std::string(kPart, 'x'));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().message, "disconnected");
  EXPECT_EQ(seen_.parts.size(), 1U);
  EXPECT_FALSE(seen_.finished);
}

TEST_F(QueuedSinkTest, FinishReturnsErrorOfLastPart) {
  may_.set_value();
  const auto sink = Make(1);
  ASSERT_TRUE(sink->Append(std::string(2 * kPart, 'x')));
  const auto finished = sink->Finish();
  ASSERT_FALSE(finished);
  EXPECT_FALSE(seen_.finished);
}

// Several files share one budget.
TEST_F(QueuedSinkTest, SinksShareBudget) {
  const auto budget = std::make_shared<PartBudget>(1);
  const std::shared_future<void> may = may_.get_future().share();
  Seen other;
  QueuedSink one(std::make_unique<SlowSink>(seen_, may, 1000), kPart, 3, budget);
  QueuedSink two(std::make_unique<SlowSink>(other, may, 1000), kPart, 3, budget);
  // The first part of one is being sent, so the first part of two waits.
  ASSERT_TRUE(one.Append(std::string(kPart + 1, 'x')));
  auto more =
      std::async(std::launch::async, [&] { return two.Append(std::string(kPart + 1, 'y')); });
  EXPECT_EQ(more.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  {
    const std::scoped_lock lock(other.mutex);
    EXPECT_TRUE(other.parts.empty());
  }
  may_.set_value();
  EXPECT_TRUE(more.get());
  ASSERT_TRUE(one.Finish());
  ASSERT_TRUE(two.Finish());
  EXPECT_EQ(seen_.parts.size(), 2U);
  EXPECT_EQ(other.parts.size(), 2U);
}

// After an error, and when a file is abandoned.
TEST_F(QueuedSinkTest, ReleasesUnsentParts) {
  const auto budget = std::make_shared<PartBudget>(2);
  may_.set_value();
  const std::shared_future<void> may = may_.get_future().share();
  for (int i = 0; i < 5; ++i) {
    Seen seen;
    QueuedSink sink(std::make_unique<SlowSink>(seen, may, 1), kPart, 3, budget);
    Status appended;
    for (int part = 0; part < 10 && appended; ++part) {
      appended = sink.Append(std::string(kPart, 'x'));
    }
    ASSERT_FALSE(appended);
  }
  budget->Acquire();
  budget->Acquire();
}

// Memory of sent parts is reused by any file.
TEST_F(QueuedSinkTest, ReusesMemoryOfParts) {
  constexpr std::size_t kLargePart = 1'000;
  const auto budget = std::make_shared<PartBudget>(1);
  may_.set_value();
  const std::shared_future<void> may = may_.get_future().share();
  {
    QueuedSink sink(std::make_unique<SlowSink>(seen_, may, 1000), kLargePart, 3, budget);
    for (int part = 0; part < 5; ++part) ASSERT_TRUE(sink.Append(std::string(kLargePart, 'x')));
    ASSERT_TRUE(sink.Finish());
  }
  EXPECT_EQ(seen_.parts, std::vector<std::string>(5, std::string(kLargePart, 'x')));
  std::string part = budget->Acquire();
  EXPECT_EQ(part, "");
  EXPECT_GE(part.capacity(), kLargePart);
  budget->Release(std::move(part));
  EXPECT_GE(budget->Acquire().capacity(), kLargePart);
}

TEST_F(QueuedSinkTest, DestructorDoesNotFinish) {
  auto sink = Make();
  ASSERT_TRUE(sink->Append(std::string(3 * kPart, 'x')));
  may_.set_value();
  sink.reset();
  EXPECT_TRUE(seen_.gone);
  EXPECT_FALSE(seen_.finished);
}

}  // namespace queued_sink_test
}  // namespace reveza::fraudgen
