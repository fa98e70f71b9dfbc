#include "interpose/gate.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace reveza::interpose {
namespace {

using namespace std::chrono_literals;

class GateTest : public ::testing::Test {
 protected:
  GateTest() { Gate::Prepare(); }
  ~GateTest() override { Gate::Open(false); }
};

// Threads add to a counter that is not atomic, only inside the gate; the closer, once it has
// closed, owns it alone. A thread that slipped through would be seen in the counter (and by the
// thread sanitizer).
TEST_F(GateTest, NobodyIsInsideAClosedGate) {
  constexpr int kThreads = 4;
  std::atomic<bool> stop{false};
  std::vector<std::uint64_t> counters(kThreads * 16, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      while (!stop.load(std::memory_order_relaxed)) {
        const GateScope gate;
        counters[i * 16] = counters[i * 16] + 1;
      }
    });
  }
  for (int round = 0; round < 300; ++round) {
    ASSERT_TRUE(Gate::Close(10'000'000));
    std::vector<std::uint64_t> seen = counters;
    for (int i = 0; i < 200; ++i) std::this_thread::yield();
    ASSERT_EQ(seen, counters) << "round " << round;
    Gate::Open(false);
    std::this_thread::yield();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += counters[i * 16];
  EXPECT_GT(sum, 0u);
}

// In a child, with membarrier ended by the kernel as `action` says; its exit status, or minus the
// signal that ended it.
int WithoutMembarrier(std::uint32_t action, int (*run)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      _exit(99);
    }
    _exit(run());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Seen from outside: what the barrier itself is for depends on processors and luck.
TEST_F(GateTest, ClosingMakesEveryThreadExecuteABarrier) {
  gate_internal::fence_on_entry = false;
  EXPECT_EQ(WithoutMembarrier(SECCOMP_RET_KILL_PROCESS, [] { return Gate::Close(0) ? 0 : 1; }),
            -SIGSYS);
  EXPECT_EQ(WithoutMembarrier(SECCOMP_RET_KILL_PROCESS,
                              [] {
                                const GateScope gate;
                                Gate::Open(true);
                                return 0;
                              }),
            0)
      << "entering must not cost a system call";
}

TEST_F(GateTest, WhereTheKernelRefusesMembarrierFencesAreUsed) {
  gate_internal::fence_on_entry = false;
  EXPECT_EQ(WithoutMembarrier(SECCOMP_RET_ERRNO | ENOSYS,
                              [] {
                                Gate::Prepare();
                                return gate_internal::fence_on_entry ? 7 : 0;
                              }),
            7);
}

// A program may forbid itself calls when it has begun: whoever went in before is then not seen for
// certain, and the next time all are.
TEST_F(GateTest, ABarrierThatIsRefusedLaterClosesNothingOnce) {
  gate_internal::fence_on_entry = false;
  EXPECT_EQ(WithoutMembarrier(SECCOMP_RET_ERRNO | EPERM,
                              [] {
                                if (Gate::Close(10'000'000)) return 1;
                                if (!gate_internal::fence_on_entry) return 2;
                                Gate::Open(true);
                                return Gate::Close(10'000'000) ? 7 : 3;
                              }),
            7);
}

TEST_F(GateTest, CloseWaitsForWhoIsInsideAndGivesUpAtItsLimit) {
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::thread thread([&] {
    const GateScope gate;
    inside.store(true);
    while (!leave.load()) std::this_thread::sleep_for(1ms);
  });
  while (!inside.load()) std::this_thread::yield();
  EXPECT_FALSE(Gate::Close(20'000));
  EXPECT_TRUE(Gate::IsClosed());
  leave.store(true);
  EXPECT_TRUE(Gate::Close(10'000'000));
  thread.join();
}

TEST_F(GateTest, WhoHasLeftAndDoesNotComeAgainIsNotWaitedFor) {
  {
    const GateScope gate;
  }
  EXPECT_TRUE(Gate::Close(5'000'000));
}

TEST_F(GateTest, AThreadWaitsAtTheClosedGateAndGoesOnWhenItOpens) {
  ASSERT_TRUE(Gate::Close(1'000'000));
  std::atomic<bool> passed{false};
  std::thread thread([&] {
    const GateScope gate;
    passed.store(true);
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(passed.load());
  Gate::Open(false);
  thread.join();
  EXPECT_TRUE(passed.load());
}

TEST_F(GateTest, CallsInsideCallsDoNotWaitForThemselves) {
  std::atomic<int> stage{0};
  std::thread thread([&] {
    const GateScope outer;
    stage.store(1);
    while (stage.load() != 2) std::this_thread::sleep_for(1ms);
    const GateScope inner;  // the gate is closing: only the outer call counts
    stage.store(3);
  });
  while (stage.load() != 1) std::this_thread::yield();
  std::thread closer([] { EXPECT_TRUE(Gate::Close(20'000'000)); });
  while (!Gate::IsClosed()) std::this_thread::yield();
  stage.store(2);
  thread.join();
  closer.join();
  EXPECT_EQ(stage.load(), 3);
}

TEST_F(GateTest, APausedThreadIsNotInsideAndComesBackOnlyThroughAnOpenGate) {
  std::atomic<int> stage{0};
  std::thread thread([&] {
    const GateScope gate;
    {
      const GatePause pause;
      stage.store(1);
      while (stage.load() != 2) std::this_thread::sleep_for(1ms);
    }
    stage.store(3);
  });
  while (stage.load() != 1) std::this_thread::yield();
  EXPECT_TRUE(Gate::Close(10'000'000)) << "the paused thread must not count";
  stage.store(2);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(stage.load(), 2);
  Gate::Open(false);
  thread.join();
  EXPECT_EQ(stage.load(), 3);
}

TEST_F(GateTest, SubmissionsAreCountedOverAllThreadsAlsoThoseThatEnded) {
  const std::uint64_t before = Gate::Submissions();
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (int k = 0; k < 100; ++k) const GateScope gate;
    }).join();
  }
  EXPECT_EQ(Gate::Submissions(), before + 300);
}

// Who waits looks again by itself after five seconds: long before that it has been woken.
TEST_F(GateTest, OpeningWakesAllWhoWait) {
  ASSERT_TRUE(Gate::Close(1'000'000));
  std::vector<std::future<void>> passed;
  for (int i = 0; i < 4; ++i) {
    passed.push_back(std::async(std::launch::async, [] { const GateScope gate; }));
  }
  std::this_thread::sleep_for(50ms);
  Gate::Open(false);
  const auto until = std::chrono::steady_clock::now() + 4s;
  for (const auto& one : passed) EXPECT_EQ(one.wait_until(until), std::future_status::ready);
}

TEST_F(GateTest, TheSlotOfAThreadThatEndedGoesToALaterOne) {
  const auto slot_of_a_thread = [] {
    ThreadSlot* slot = nullptr;
    std::thread([&slot] {
      {
        const GateScope gate;
      }
      slot = gate_internal::slot;
    }).join();
    return slot;
  };
  ThreadSlot* first = slot_of_a_thread();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(slot_of_a_thread(), first);
}

TEST_F(GateTest, TheChildOfAForkFindsTheGateOpen) {
  ASSERT_TRUE(Gate::Close(1'000'000));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // ends a child that waits
    Gate::ResetAfterFork();
    {
      const GateScope gate;
    }
    _exit(Gate::IsClosed() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(GateTest, WithoutMembarrierFencesDoTheSame) {
  gate_internal::fence_on_entry = true;
  std::atomic<bool> stop{false};
  std::uint64_t counter = 0;
  std::thread thread([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      const GateScope gate;
      counter = counter + 1;
    }
  });
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(Gate::Close(10'000'000));
    const std::uint64_t seen = counter;
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    ASSERT_EQ(seen, counter);
    Gate::Open(false);
  }
  stop.store(true);
  thread.join();
  gate_internal::fence_on_entry = false;
}

}  // namespace
}  // namespace reveza::interpose
