#include "monitor/history.h"

#include <gtest/gtest.h>

#include "monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace {

TEST(History, KeepsGapsAndNoMoreThanItsLength) {
  History history;
  Snapshot snapshot = TestingSnapshot();
  snapshot.machine.cpu.reset();
  history.Add(snapshot);
  snapshot.machine.cpu = 0.5;
  history.Add(snapshot);
  EXPECT_EQ(history.Of("cpu"), (History::Values{std::nullopt, 0.5}));
  EXPECT_EQ(history.Of("memory"), (History::Values{0.75, 0.75}));
  EXPECT_EQ(history.Of("gpu " + snapshot.gpus[0].uuid), (History::Values{0.37, 0.37}));
  EXPECT_EQ(history.Of("link " + snapshot.gpus[0].uuid).back(), 41.5e9);
  EXPECT_EQ(history.Of("job sweep-3f2a").back(), 1.25);
  EXPECT_TRUE(history.Of("nothing").empty());
  for (std::size_t i = 0; i < History::kLength; ++i) history.Add(snapshot);
  EXPECT_EQ(history.Of("cpu").size(), History::kLength);
  EXPECT_EQ(history.Of("cpu").front(), 0.5);
}

TEST(History, OfALinkThatIsNotMeasuredIsThatOfSwaps) {
  History history;
  Snapshot snapshot = TestingSnapshot();
  snapshot.gpus[0].link_in.reset();
  history.Add(snapshot);
  EXPECT_EQ(history.Of("link " + snapshot.gpus[0].uuid).back(), 39.5e9);
  snapshot.gpus[0].swap_in.reset();
  history.Add(snapshot);
  EXPECT_EQ(history.Of("link " + snapshot.gpus[0].uuid).back(), std::nullopt);
}

TEST(History, ForgetsWhatIsGone) {
  History history;
  Snapshot snapshot = TestingSnapshot();
  history.Add(snapshot);
  snapshot.jobs.clear();
  history.Add(snapshot);
  EXPECT_TRUE(history.Of("job sweep-3f2a").empty());
  EXPECT_EQ(history.Of("cpu").size(), 2u);
}

}  // namespace
}  // namespace reveza::monitor
