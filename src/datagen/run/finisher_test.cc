#include "datagen/run/finisher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

namespace reveza::datagen {
namespace {

TEST(Finisher, DoesAllThatWasBrought) {
  std::atomic<int> done = 0;
  Finisher finisher({.pieces = 2});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(finisher.Bring(1, [&] {
      ++done;
      return Status();
    }));
  }
  ASSERT_TRUE(finisher.Drain());
  EXPECT_EQ(done, 20);
}

TEST(Finisher, DoesWhatWasBroughtBeforeItGoes) {
  std::atomic<int> done = 0;
  {
    Finisher finisher({.pieces = 5});
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(finisher.Bring(1, [&] {
        ++done;
        return Status();
      }));
    }
  }
  EXPECT_EQ(done, 3);
}

TEST(Finisher, StopsAtTheFirstErrorAndSaysIt) {
  std::atomic<int> done = 0;
  std::binary_semaphore go(0);
  Finisher finisher({.pieces = 4});
  ASSERT_TRUE(finisher.Bring(1, [&]() -> Status {
    go.acquire();
    return Fail(Error::Code::kExhausted, "full");
  }));
  // One is in work and three wait, so one more has to wait for the error.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(finisher.Bring(1, [&] {
      ++done;
      return Status();
    }));
  }
  std::jthread late([&] {
    const Status brought = finisher.Bring(1, [] { return Status(); });
    EXPECT_FALSE(brought);
  });
  go.release();
  late.join();
  const Status drained = finisher.Drain();
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().message, "full");
  EXPECT_EQ(done, 0);
}

TEST(Finisher, AsManyAsItMayAreInWorkAtATime) {
  std::binary_semaphore second(0);
  Finisher finisher({.at_a_time = 2, .pieces = 2});
  bool together = false;
  ASSERT_TRUE(finisher.Bring(1, [&] {
    together = second.try_acquire_for(std::chrono::minutes(1));
    return Status();
  }));
  ASSERT_TRUE(finisher.Bring(1, [&] {
    second.release();
    return Status();
  }));
  ASSERT_TRUE(finisher.Drain());
  EXPECT_TRUE(together);
}

// How many pieces are done when one is let in behind a piece of six bytes that is in work and one
// of four that waits.
int DoneWhenOneComesIn(const Finisher::Limits& limits, uint64_t bytes) {
  std::atomic<int> done = 0;
  int seen = -1;
  std::counting_semaphore<2> go(0);
  Finisher finisher(limits);
  EXPECT_TRUE(finisher.Bring(6, [&] {
    go.acquire();
    ++done;
    return Status();
  }));
  EXPECT_TRUE(finisher.Bring(4, [&] {
    ++done;
    return Status();
  }));
  std::jthread late([&] {
    EXPECT_TRUE(finisher.Bring(bytes, [] { return Status(); }));
    seen = done;
    go.release();
  });
  // Who is not let in would wait for ever.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go.release();
  late.join();
  EXPECT_TRUE(finisher.Drain());
  return seen;
}

TEST(Finisher, LetsInWhatItHasRoomFor) {
  EXPECT_EQ(DoneWhenOneComesIn({.pieces = 3, .bytes = 11}, 1), 0);
  EXPECT_GE(DoneWhenOneComesIn({.pieces = 3, .bytes = 10}, 1), 1);
  EXPECT_GE(DoneWhenOneComesIn({.pieces = 2, .bytes = 11}, 1), 1);
  EXPECT_EQ(DoneWhenOneComesIn({.pieces = 3, .bytes = 10}, 11), 2);
}

}  // namespace
}  // namespace reveza::datagen
