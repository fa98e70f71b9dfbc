#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

#include "fraudgen/run/block_files.h"

namespace reveza::fraudgen {
namespace finisher_test {

TEST(Finisher, CompletesAllTasks) {
  std::atomic<int> done = 0;
  Finisher finisher({.max_tasks = 2});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(finisher.Submit(1, [&] {
      ++done;
      return Status();
    }));
  }
  ASSERT_TRUE(finisher.Drain());
  EXPECT_EQ(done, 20);
}

TEST(Finisher, DestructorCompletesTasks) {
  std::atomic<int> done = 0;
  {
    Finisher finisher({.max_tasks = 5});
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(finisher.Submit(1, [&] {
        ++done;
        return Status();
      }));
    }
  }
  EXPECT_EQ(done, 3);
}

TEST(Finisher, StopsAtFirstError) {
  std::atomic<int> done = 0;
  std::binary_semaphore go(0);
  Finisher finisher({.max_tasks = 4});
  ASSERT_TRUE(finisher.Submit(1, [&]() -> Status {
    go.acquire();
    return Fail(Error::Code::kExhausted, "full");
  }));
  // One task runs and three are queued, so the next Submit() blocks until the error.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(finisher.Submit(1, [&] {
      ++done;
      return Status();
    }));
  }
  std::jthread late([&] {
    const Status submitted = finisher.Submit(1, [] { return Status(); });
    EXPECT_FALSE(submitted);
  });
  go.release();
  late.join();
  const Status drained = finisher.Drain();
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().message, "full");
  EXPECT_EQ(done, 0);
}

TEST(Finisher, RunsTasksConcurrently) {
  std::binary_semaphore second(0);
  Finisher finisher({.threads = 2, .max_tasks = 2});
  bool together = false;
  ASSERT_TRUE(finisher.Submit(1, [&] {
    together = second.try_acquire_for(std::chrono::minutes(1));
    return Status();
  }));
  ASSERT_TRUE(finisher.Submit(1, [&] {
    second.release();
    return Status();
  }));
  ASSERT_TRUE(finisher.Drain());
  EXPECT_TRUE(together);
}

// Returns how many tasks have completed when Submit(bytes) returns while a task of six bytes runs
// and one of four bytes is queued.
int CompletedAfterSubmit(const Finisher::Limits& limits, uint64_t bytes) {
  std::atomic<int> done = 0;
  int seen = -1;
  std::counting_semaphore<2> go(0);
  Finisher finisher(limits);
  EXPECT_TRUE(finisher.Submit(6, [&] {
    go.acquire();
    ++done;
    return Status();
  }));
  EXPECT_TRUE(finisher.Submit(4, [&] {
    ++done;
    return Status();
  }));
  std::jthread late([&] {
    EXPECT_TRUE(finisher.Submit(bytes, [] { return Status(); }));
    seen = done;
    go.release();
  });
  // Releases the first task in case Submit() blocks.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go.release();
  late.join();
  EXPECT_TRUE(finisher.Drain());
  return seen;
}

TEST(Finisher, SubmitBlocksAtLimits) {
  EXPECT_EQ(CompletedAfterSubmit({.max_tasks = 3, .max_bytes = 11}, 1), 0);
  EXPECT_GE(CompletedAfterSubmit({.max_tasks = 3, .max_bytes = 10}, 1), 1);
  EXPECT_GE(CompletedAfterSubmit({.max_tasks = 2, .max_bytes = 11}, 1), 1);
  EXPECT_EQ(CompletedAfterSubmit({.max_tasks = 3, .max_bytes = 10}, 11), 2);
}

}  // namespace finisher_test
}  // namespace reveza::fraudgen
