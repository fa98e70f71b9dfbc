#include "reveza/gpu/interpose/context_guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "reveza/gpu/interpose/gate.h"

namespace reveza::interpose {
namespace context_guard_test {

constexpr std::int64_t kLongUs = 10'000'000;

class ContextGuardTest : public ::testing::TestWithParam<bool> {
 protected:
  ContextGuardTest() {
    Gate::Prepare();
    gate_internal::fence_on_entry = GetParam();
  }
  ~ContextGuardTest() override {
    ContextDoor::Open();
    Gate::Open(false);
    gate_internal::fence_on_entry = false;
  }
};

INSTANTIATE_TEST_SUITE_P(WithMembarrierAndFences, ContextGuardTest, ::testing::Bool());

// As GateTest.NoThreadIsInsideAClosedGate.
TEST_P(ContextGuardTest, NoThreadIsInTheDriverWhileTheContextsAreAway) {
  constexpr int kThreads = 4;
  std::atomic<bool> stop{false};
  std::vector<std::uint64_t> counters(kThreads * 16, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      while (!stop.load(std::memory_order_relaxed)) {
        const ContextGuard guard;
        const ContextGuard nested;
        counters[i * 16] = counters[i * 16] + 1;
      }
    });
  }
  for (int round = 0; round < 300; ++round) {
    ASSERT_TRUE(ContextDoor::Close(kLongUs));
    if (round % 2 == 0) ContextDoor::SetAway();
    std::vector<std::uint64_t> seen = counters;
    for (int i = 0; i < 200; ++i) std::this_thread::yield();
    ASSERT_EQ(seen, counters) << "round " << round;
    ContextDoor::Open();
    std::this_thread::yield();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ContextGuardTest, CloseWaitsForThreadsInsideUpToItsLimit) {
  const ContextGuard guard;
  EXPECT_FALSE(ContextDoor::Close(1000));
  ContextDoor::Open();
}

TEST_P(ContextGuardTest, ThreadAtTheClosedGateHoldsNoGuard) {
  ASSERT_TRUE(Gate::Close(kLongUs));
  std::atomic<bool> passed{false};
  std::thread thread([&] {
    const ContextGuard guard;  // of a hook
    const GateScope gate;
    EXPECT_EQ(gate_internal::slot->guarded.load(), 1u);
    passed = true;
  });
  while (!ContextDoor::Close(1000)) ContextDoor::Open();
  ContextDoor::SetAway();
  EXPECT_FALSE(passed);
  ContextDoor::Open();
  Gate::Open(false);
  thread.join();
  EXPECT_TRUE(passed);
}

TEST_P(ContextGuardTest, ThreadThatWaitsForMemoryHoldsNoGuardAndComesBackWithTheContexts) {
  std::atomic<bool> waits{false};
  std::atomic<bool> goes_on{false};
  std::atomic<bool> back{false};
  std::thread thread([&] {
    const ContextGuard guard;
    const ContextGuard nested;
    {
      const GatePause pause;
      waits = true;
      while (!goes_on) usleep(100);
    }
    EXPECT_EQ(gate_internal::slot->guards, 2u);
    back = true;
  });
  while (!waits) usleep(100);
  ASSERT_TRUE(ContextDoor::Close(kLongUs));
  ContextDoor::SetAway();
  goes_on = true;
  for (int i = 0; i < 200; ++i) std::this_thread::yield();
  EXPECT_FALSE(back);
  ContextDoor::Open();
  thread.join();
  EXPECT_TRUE(back);
}

TEST_P(ContextGuardTest, TryDoesNotWait) {
  {
    const TryContextGuard here;
    EXPECT_TRUE(here.held());
    EXPECT_FALSE(ContextDoor::Close(1000));
    ContextDoor::Open();
  }
  ASSERT_TRUE(ContextDoor::Close(kLongUs));
  const TryContextGuard away;
  EXPECT_FALSE(away.held());
}

}  // namespace context_guard_test
}  // namespace reveza::interpose
