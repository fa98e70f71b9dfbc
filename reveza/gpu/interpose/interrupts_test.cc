// SIGINT of a program whose threads wait.
#include "reveza/gpu/interpose/interrupts.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "reveza/gpu/interpose/gate.h"

namespace reveza::interpose {
namespace interrupts_test {

std::atomic<int> first_handled{0};
std::atomic<int> second_handled{0};
std::atomic<int> info_handled{0};

void First(int) { ++first_handled; }
void Second(int) { ++second_handled; }
void WithInfo(int number, siginfo_t* info, void* context) {
  if (number == SIGINT && info->si_value.sival_int == 42 && context != nullptr) ++info_handled;
}

struct sigaction Action() {
  struct sigaction now{};
  sigaction(SIGINT, nullptr, &now);
  return now;
}

// Returns the action that was replaced.
struct sigaction Install(const struct sigaction& action) {
  struct sigaction old{};
  EXPECT_EQ(sigaction(SIGINT, &action, &old), 0);
  return old;
}

struct sigaction Plain(void (*handler)(int), int flags = 0) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return action;
}

std::string NoticesOf(InterruptWatch& watch) {
  ::testing::internal::CaptureStderr();
  watch.Check();
  return ::testing::internal::GetCapturedStderr();
}

class InterruptWatchTest : public ::testing::Test {
 protected:
  InterruptWatchTest() { first_handled = second_handled = info_handled = 0; }
  ~InterruptWatchTest() override { signal(SIGINT, SIG_DFL); }
};

TEST_F(InterruptWatchTest, DoesNotWrapTheDefaultHandler) {
  for (const auto handler : {SIG_DFL, SIG_IGN}) {
    Install(Plain(handler));
    const InterruptWatch watch;
    EXPECT_EQ(Action().sa_handler, handler);
  }
}

TEST_F(InterruptWatchTest, WrapsAndRestoresTheHandler) {
  struct sigaction program = Plain(First, SA_RESTART | SA_NODEFER);
  sigaddset(&program.sa_mask, SIGUSR1);
  Install(program);
  {
    InterruptWatch watch;
    const InterruptWatch of_another_thread;
    EXPECT_NE(Action().sa_handler, program.sa_handler);
    EXPECT_EQ(Action().sa_flags & (SA_RESTART | SA_NODEFER | SA_SIGINFO), SA_RESTART | SA_NODEFER);
    raise(SIGINT);
    EXPECT_EQ(first_handled, 1) << "the program's handler ran";
    EXPECT_NE(NoticesOf(watch).find("press Ctrl-C again"), std::string::npos);
    EXPECT_EQ(NoticesOf(watch), "") << "one line per interrupt";
  }
  EXPECT_EQ(Action().sa_handler, program.sa_handler);
  EXPECT_EQ(Action().sa_flags & SA_RESTART, SA_RESTART);
  const struct sigaction restored = Action();
  EXPECT_EQ(sigismember(&restored.sa_mask, SIGUSR1), 1);
}

// What system(3), getpass(3) and readline do, begun and ended at any point of two waits.
TEST_F(InterruptWatchTest, HandlerSurvivesSaveAndRestoreInEveryOrder) {
  enum Event { kSave, kRestore, kBegin, kEnd, kOtherBegins, kOtherEnds };
  std::array<Event, 6> order = {kSave, kRestore, kBegin, kEnd, kOtherBegins, kOtherEnds};
  const auto precedes = [&](Event one, Event other) {
    return std::ranges::find(order, one) < std::ranges::find(order, other);
  };
  int orders = 0;
  do {
    if (!precedes(kSave, kRestore) || !precedes(kBegin, kEnd) ||
        !precedes(kOtherBegins, kOtherEnds)) {
      continue;
    }
    ++orders;
    first_handled = 0;
    Install(Plain(First));
    struct sigaction saved{};
    std::optional<InterruptWatch> watch;
    std::optional<InterruptWatch> other;
    int expected = 0;
    bool ignored = false;
    for (const Event event : order) {
      if (event == kSave) saved = Install(Plain(SIG_IGN));
      if (event == kRestore) Install(saved);
      if (event == kSave || event == kRestore) ignored = event == kSave;
      if (event == kBegin) watch.emplace();
      if (event == kEnd) watch.reset();
      if (event == kOtherBegins) other.emplace();
      if (event == kOtherEnds) other.reset();
      raise(SIGINT);
      expected += ignored ? 0 : 1;
      ASSERT_EQ(first_handled, expected) << "order " << orders << ", event " << event;
    }
    {
      const InterruptWatch last;
    }
    EXPECT_EQ(Action().sa_handler, First);
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(orders, 90);
}

TEST_F(InterruptWatchTest, RestoredActionRunsTheHandlerItWasSavedFrom) {
  Install(Plain(First));
  struct sigaction saved{};
  {
    const InterruptWatch watch;
    saved = Install(Plain(Second));
  }
  const InterruptWatch later;  // wraps the second one
  raise(SIGINT);
  EXPECT_EQ(second_handled, 1);
  Install(saved);
  raise(SIGINT);
  EXPECT_EQ(first_handled, 1);
  EXPECT_EQ(second_handled, 1);
}

TEST_F(InterruptWatchTest, KeepsAHandlerSetDuringTheWait) {
  Install(Plain(First));
  {
    const InterruptWatch watch;
    signal(SIGINT, SIG_IGN);
  }
  EXPECT_EQ(Action().sa_handler, SIG_IGN);
}

TEST_F(InterruptWatchTest, HandlerWithInfoReceivesIt) {
  struct sigaction program{};
  program.sa_sigaction = WithInfo;
  program.sa_flags = SA_SIGINFO;
  Install(program);
  {
    const InterruptWatch watch;
    sigval value{};
    value.sival_int = 42;
    EXPECT_EQ(pthread_sigqueue(pthread_self(), SIGINT, value), 0);
    EXPECT_EQ(info_handled, 1);
  }
  EXPECT_EQ(Action().sa_sigaction, WithInfo);
}

TEST_F(InterruptWatchTest, HandlerForOneSignalIsResetByIt) {
  Install(Plain(First, static_cast<int>(SA_RESETHAND)));
  {
    const InterruptWatch watch;
    raise(SIGINT);
    EXPECT_EQ(first_handled, 1);
    EXPECT_EQ(Action().sa_handler, SIG_DFL);
  }
  EXPECT_EQ(Action().sa_handler, SIG_DFL);
}

TEST_F(InterruptWatchTest, FlagsChangedDuringTheWaitStay) {
  Install(Plain(First));
  {
    const InterruptWatch watch;
    struct sigaction action = Action();  // as siginterrupt(3) does
    action.sa_flags |= SA_RESTART;
    Install(action);
  }
  EXPECT_EQ(Action().sa_handler, First);
  EXPECT_NE(Action().sa_flags & SA_RESTART, 0);
}

TEST_F(InterruptWatchTest, HandlersBeyondTheTableRunUnwrapped) {
  Install(Plain(First));
  const InterruptWatch watch;
  const auto handlers = []<int... kIndices>(std::integer_sequence<int, kIndices...>) {
    return std::vector<void (*)(int)>{+[](int) { first_handled += 100 + kIndices; }...};
  }(std::make_integer_sequence<int, 20>());
  int expected = 0;
  for (int i = 0; i < 20; ++i) {
    Install(Plain(handlers[static_cast<std::size_t>(i)]));
    const InterruptWatch another;
    raise(SIGINT);
    EXPECT_EQ(first_handled, expected += 100 + i);
  }
}

TEST_F(InterruptWatchTest, InterruptsOfOtherThreadsAreTheirs) {
  Install(Plain(First));
  InterruptWatch watch;
  std::thread([] {
    raise(SIGINT);
    raise(SIGINT);
  }).join();
  EXPECT_EQ(first_handled, 2);
  EXPECT_EQ(NoticesOf(watch), "");
}

TEST_F(InterruptWatchTest, ConcurrentWaitsLoseNoInterrupt) {
  Install(Plain(First));
  std::atomic<bool> stop{false};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] {
      while (!stop) const InterruptWatch watch;
    });
  }
  for (int i = 0; i < 2000; ++i) raise(SIGINT);
  stop = true;
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(first_handled, 2000);
  EXPECT_EQ(Action().sa_handler, First);
}

TEST_F(InterruptWatchTest, ForkedChildHasTheProgramsHandler) {
  Install(Plain(First));
  const InterruptWatch watch;
  const pid_t child = fork();
  if (child == 0) {
    InterruptWatch::ResetAfterFork();
    _exit(Action().sa_handler == First ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(Action().sa_handler, First) << "the parent still waits";
}

// The thread sanitizer delivers signals only in blocking calls.
void RaiseUntilHandled(int times) {
  for (int i = 1; i <= times; ++i) {
    raise(SIGINT);
    for (int k = 0; k < 10'000 && first_handled < i; ++k) usleep(1000);
  }
}

TEST(InterruptWatchDeathTest, SecondInterruptTerminatesTheProgram) {
  EXPECT_EXIT(
      {
        Install(Plain(First));
        InterruptWatch watch;
        RaiseUntilHandled(2);
        watch.Check();
        _exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

// SA_RESTART (the default of signal(3)) does not hide the signal from the waiting thread.
TEST(InterruptWatchDeathTest, ThreadAtTheGateIsTerminatedByTheSecondInterrupt) {
  EXPECT_EXIT(
      {
        Install(Plain(First, SA_RESTART));
        Gate::Prepare();
        Gate::Close(0);
        const pthread_t waiting = pthread_self();
        std::thread([waiting] {
          while (Action().sa_handler == First) usleep(1000);
          for (;;) {
            pthread_kill(waiting, SIGINT);
            usleep(20'000);
          }
        }).detach();
        const GateScope gate;
        _exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "press Ctrl-C again");
}

}  // namespace interrupts_test
}  // namespace reveza::interpose
