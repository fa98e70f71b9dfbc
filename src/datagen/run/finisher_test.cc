#include "datagen/run/finisher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <thread>

namespace reveza::datagen {
namespace {

TEST(Finisher, DoesAllThatWasBrought) {
  std::atomic<int> done = 0;
  Finisher finisher(2);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(finisher.Bring([&] {
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
    Finisher finisher(4);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(finisher.Bring([&] {
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
  Finisher finisher(3);
  ASSERT_TRUE(finisher.Bring([&]() -> Status {
    go.acquire();
    return Fail(Error::Code::kExhausted, "full");
  }));
  // One is in work and three wait, so one more has to wait for the error.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(finisher.Bring([&] {
      ++done;
      return Status();
    }));
  }
  std::jthread late([&] {
    const Status brought = finisher.Bring([] { return Status(); });
    EXPECT_FALSE(brought);
  });
  go.release();
  late.join();
  const Status drained = finisher.Drain();
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().message, "full");
  EXPECT_EQ(done, 0);
}

}  // namespace
}  // namespace reveza::datagen
