#include "reveza/gpu/interpose/gate.h"

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
namespace gate_test {

using namespace std::chrono_literals;

class GateTest : public ::testing::Test {
 protected:
  GateTest() { Gate::Prepare(); }
  ~GateTest() override { Gate::Open(false); }
};

// Threads increment non-atomic counters inside the gate; once the gate is closed they must not
// change. A thread that slipped through shows in the counters (and in the thread sanitizer).
TEST_F(GateTest, NoThreadIsInsideAClosedGate) {
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

// Runs `run` in a child with a seccomp filter that applies `action` to membarrier. Returns its exit
// status, or minus the signal that terminated it.
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

// Observed from outside: the effect of the barrier itself depends on the processor and on timing.
TEST_F(GateTest, CloseUsesMembarrier) {
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

TEST_F(GateTest, FallsBackToFencesWithoutMembarrier) {
  gate_internal::fence_on_entry = false;
  EXPECT_EQ(WithoutMembarrier(SECCOMP_RET_ERRNO | ENOSYS,
                              [] {
                                Gate::Prepare();
                                return gate_internal::fence_on_entry ? 7 : 0;
                              }),
            7);
}

// A program may install a seccomp filter later: threads already inside may then go unnoticed, so
// the first Close() must fail.
TEST_F(GateTest, CloseFailsOnceIfMembarrierFailsLater) {
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

TEST_F(GateTest, CloseWaitsForThreadsInsideUpToItsLimit) {
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

TEST_F(GateTest, CloseDoesNotWaitForThreadsOutside) {
  {
    const GateScope gate;
  }
  EXPECT_TRUE(Gate::Close(5'000'000));
}

TEST_F(GateTest, ThreadBlocksAtAClosedGateUntilItOpens) {
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

TEST_F(GateTest, AdmitsAsManyCallsAsOrdered) {
  constexpr int kThreads = 4;
  ASSERT_TRUE(Gate::Close(1'000'000));
  std::atomic<int> passed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < 100; ++call) {
        const GateScope gate;
        const GateScope nested;
        ++passed;
      }
    });
  }
  int admitted = 0;
  for (const std::uint32_t submissions : {1u, 7u, 1u, 64u}) {
    Gate::Admit(submissions);
    EXPECT_TRUE(Gate::IsClosed());
    admitted += static_cast<int>(submissions);
    while (!Gate::AdmissionUsedUp() || passed.load() < admitted) std::this_thread::yield();
    ASSERT_TRUE(Gate::Close(10'000'000));
    EXPECT_EQ(passed.load(), admitted);
  }
  Gate::Admit(5);
  while (passed.load() < admitted + 5) std::this_thread::yield();
  Gate::Open(false);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed.load(), kThreads * 100);
}

TEST_F(GateTest, UnusedAdmissionsEndWithTheNextClose) {
  ASSERT_TRUE(Gate::Close(1'000'000));
  Gate::Admit(10);
  EXPECT_FALSE(Gate::AdmissionUsedUp());
  ASSERT_TRUE(Gate::Close(1'000'000));
  std::atomic<bool> passed{false};
  std::thread thread([&] {
    const GateScope gate;
    passed.store(true);
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(passed.load());
  Gate::Open(false);
  thread.join();
}

TEST_F(GateTest, PausedThreadNeedsAnAdmissionToReenter) {
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
  ASSERT_TRUE(Gate::Close(10'000'000));
  stage.store(2);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(stage.load(), 2);
  Gate::Admit(1);
  thread.join();
  EXPECT_TRUE(Gate::AdmissionUsedUp());
  Gate::Open(false);
}

TEST_F(GateTest, NestedCallsDoNotDeadlock) {
  std::atomic<int> stage{0};
  std::thread thread([&] {
    const GateScope outer;
    stage.store(1);
    while (stage.load() != 2) std::this_thread::sleep_for(1ms);
    const GateScope inner;  // must not block, although the gate is closing
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

TEST_F(GateTest, PausedThreadIsOutsideAndReentersThroughAnOpenGate) {
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
  EXPECT_TRUE(Gate::Close(10'000'000)) << "the paused thread counted as inside";
  stage.store(2);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(stage.load(), 2);
  Gate::Open(false);
  thread.join();
  EXPECT_EQ(stage.load(), 3);
}

TEST_F(GateTest, SubmissionsIncludeExitedThreads) {
  const std::uint64_t before = Gate::Submissions();
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (int k = 0; k < 100; ++k) const GateScope gate;
    }).join();
  }
  EXPECT_EQ(Gate::Submissions(), before + 300);
}

// Waiters wake up by themselves after five seconds; they must be woken well before that.
TEST_F(GateTest, OpenWakesAllWaiters) {
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

TEST_F(GateTest, SlotOfAnExitedThreadIsReused) {
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

TEST_F(GateTest, GateIsOpenInAForkedChild) {
  ASSERT_TRUE(Gate::Close(1'000'000));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // in case the child blocks
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

TEST_F(GateTest, NoThreadIsInsideAClosedGateWithFences) {
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

}  // namespace gate_test
}  // namespace reveza::interpose
