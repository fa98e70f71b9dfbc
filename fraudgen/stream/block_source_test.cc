#include "fraudgen/stream/block_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen {
namespace block_source_test {

constexpr int64_t kFirstDay = 19'723;

std::unique_ptr<coherent::CoherentModel> ModelOf(uint64_t rows, uint64_t rows_per_block) {
  coherent::Parameters parameters;
  parameters.rows = rows;
  parameters.rows_per_block = rows_per_block;
  parameters.first_day = kFirstDay;
  parameters.last_day = kFirstDay + 40;
  auto model = coherent::CoherentModel::Make(parameters);
  EXPECT_TRUE(model);
  return *std::move(model);
}

struct Sources {
  Sources(const Model& model, int threads) : limit(threads) {
    const Table& table = coherent::kTransactions;
    for (uint64_t block = 0; block < model.blocks(); ++block) {
      auto writer = EventWriter::Make({.format = Format::kJsonLines},
                                      *EventTable::Of(table, EventKey::kCustomer));
      const auto make = [&model, block](BatchSink& sink) {
        const std::array<const Table*, 1> wanted = {&coherent::kTransactions};
        return model.Make(block, wanted, sink);
      };
      made.push_back(std::make_unique<BlockSource>(make, *std::move(writer), limit));
    }
  }
  std::vector<EventSource*> Pointers() const {
    std::vector<EventSource*> pointers;
    for (const auto& source : made) pointers.push_back(source.get());
    return pointers;
  }
  ConcurrencyLimit limit;
  std::vector<std::unique_ptr<BlockSource>> made;
};

std::string TextOf(const Model& model, int threads) {
  const Sources sources(model, threads);
  Merge merge(sources.Pointers());
  std::string text;
  std::vector<Event> events;
  while (merge.Next(700, events) && !events.empty()) {
    for (const Event& event : events) text += event.line;
  }
  return text;
}

TEST(BlockSourceTest, OrderDoesNotDependOnThreads) {
  const auto model = ModelOf(20'000, 3'000);
  ASSERT_GE(model->blocks(), 6u);
  const std::string one = TextOf(*model, 1);
  EXPECT_EQ(std::ranges::count(one, '\n'), 20'000);
  EXPECT_TRUE(one == TextOf(*model, 3));
  EXPECT_TRUE(one == TextOf(*model, 100));
}

TEST(BlockSourceTest, DeliversEachRowOnceInOrder) {
  const auto model = ModelOf(20'000, 3'000);
  const Sources sources(*model, 2);
  Merge merge(sources.Pointers());
  std::vector<Event> events;
  std::vector<std::string> ids;
  int64_t time = 0;
  std::string id;
  while (merge.Next(700, events) && !events.empty()) {
    for (const Event& event : events) {
      ASSERT_TRUE(event.time > time || (event.time == time && event.id > id));
      time = event.time;
      id = event.id;
      ids.push_back(id);
    }
  }
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::unique(ids).size(), 0u);
  EXPECT_EQ(ids.size(), 20'000u);
}

TEST(BlockSourceTest, CanBeDestroyedAtAnyTime) {
  const auto model = ModelOf(20'000, 3'000);
  for (const std::size_t events_read : {0, 1, 500, 5'000}) {
    const Sources sources(*model, 1);
    Merge merge(sources.Pointers());
    std::vector<Event> events;
    if (events_read > 0) {
      ASSERT_TRUE(merge.Next(events_read, events));
      EXPECT_EQ(events.size(), events_read);
    }
  }
}

// Makes one batch, then fails.
class BrokenModel final : public Model {
 public:
  std::span<const Table* const> tables() const override {
    static constexpr std::array<const Table*, 1> kTables = {&coherent::kTransactions};
    return kTables;
  }
  uint64_t blocks() const override { return 1; }
  uint64_t RowsOf(const Table&, uint64_t) const override { return 1; }
  Status Make(uint64_t, std::span<const Table* const>, BatchSink&) const override {
    return Fail(Error::Code::kInternal, "the model is broken");
  }
};

TEST(BlockSourceTest, ReturnsErrorOfModel) {
  const BrokenModel model;
  const Sources sources(model, 1);
  const auto batch = sources.made[0]->Next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().message, "the model is broken");
}

}  // namespace block_source_test
}  // namespace reveza::fraudgen
