#include "common/base/run_in_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace reveza {
namespace run_in_parallel_test {

TEST(RunInParallel, CallsEachIndexOnce) {
  for (const int wanted : {-1, 0, 1, 2, 7}) {
    std::vector<int> calls(8, 0);
    std::atomic<int> counts = 0;
    std::atomic<int> running = 0;
    RunInParallel(wanted, [&](int number, int count) {
      ++calls[static_cast<std::size_t>(number)];
      counts += count;
      // All calls run concurrently.
      ++running;
      while (running < count) std::this_thread::yield();
    });
    const int all = running;
    EXPECT_EQ(all, wanted > 1 ? wanted : 1);
    EXPECT_EQ(counts, all * all);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)], i < all ? 1 : 0);
  }
}

TEST(RunInParallel, RethrowsAfterAllThreadsHaveReturned) {
  std::atomic<int> ended = 0;
  EXPECT_THROW(RunInParallel(4,
                             [&](int number, int) {
                               if (number == 2) throw std::runtime_error("two");
                               ++ended;
                             }),
               std::runtime_error);
  EXPECT_EQ(ended, 3);
}

}  // namespace run_in_parallel_test
}  // namespace reveza
