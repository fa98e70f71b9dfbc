// One thread's wait at the closed gate, and what it says.
#include "interpose/gate_wait.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "interpose/gate.h"
#include "interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace {

std::string WhatIsSaid(void (*speak)()) {
  ::testing::internal::CaptureStderr();
  speak();
  return ::testing::internal::GetCapturedStderr();
}

TEST(SayTest, IsOneLineWithTheName) {
  EXPECT_EQ(WhatIsSaid([] { Say("%d of %s", 3, "them"); }), "reveza: 3 of them\n");
}

TEST(SayTest, IsCutWhereItIsTooLong) {
  const std::string said = WhatIsSaid([] { Say("%s", std::string(5000, 'x').c_str()); });
  EXPECT_LE(said.size(), 512u);
  EXPECT_GT(said.size(), 400u);
  EXPECT_TRUE(said.ends_with("x\n"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
}

TEST(SayTest, IsQuietWhenItWasAskedToBe) {
  setenv("REVEZA_QUIET", "1", 1);
  EXPECT_EQ(WhatIsSaid([] { Say("anything"); }), "");
  setenv("REVEZA_QUIET", "0", 1);
  EXPECT_NE(WhatIsSaid([] { Say("anything"); }), "");
  unsetenv("REVEZA_QUIET");
}

std::atomic<int> handled{0};

struct sigaction Handler() {
  struct sigaction now{};
  sigaction(SIGINT, nullptr, &now);
  return now;
}

TEST(GateWaitTest, LeavesAProgramWithoutAHandlerAlone) {
  signal(SIGINT, SIG_DFL);  // shells ignore it for what they start in the background
  const GateWait wait;
  EXPECT_EQ(Handler().sa_handler, SIG_DFL);
}

TEST(GateWaitTest, CountsWhatTheProgramsHandlerGetsAndRestoresIt) {
  struct sigaction program{};
  program.sa_handler = [](int) { ++handled; };
  program.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGINT, &program, nullptr), 0);
  {
    GateWait wait;
    GateWait of_another_thread;
    raise(SIGINT);
    EXPECT_EQ(handled.load(), 1) << "the program's handler ran";
    ::testing::internal::CaptureStderr();
    wait.Interrupted();
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("press Ctrl-C again"),
              std::string::npos);
  }
  EXPECT_EQ(Handler().sa_handler, program.sa_handler);
  EXPECT_NE(Handler().sa_flags & SA_RESTART, 0);
  signal(SIGINT, SIG_DFL);
}

TEST(GateWaitTest, KeepsAHandlerThatWasSetMeanwhile) {
  struct sigaction program{};
  program.sa_handler = [](int) { ++handled; };
  ASSERT_EQ(sigaction(SIGINT, &program, nullptr), 0);
  {
    const GateWait wait;
    signal(SIGINT, SIG_IGN);
  }
  EXPECT_EQ(Handler().sa_handler, SIG_IGN);
  signal(SIGINT, SIG_DFL);
}

TEST(GateWaitDeathTest, TheSecondInterruptEndsTheProgram) {
  EXPECT_EXIT(
      {
        struct sigaction program{};
        program.sa_handler = [](int) { ++handled; };
        sigaction(SIGINT, &program, nullptr);
        GateWait wait;
        for (int i = 1; i <= 2; ++i) {
          raise(SIGINT);
          // The thread sanitizer hands signals on in calls that wait.
          for (int k = 0; k < 10'000 && handled < i; ++k) usleep(1000);
        }
        wait.Interrupted();
        _exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

TEST(GateWaitTest, SleepsUntilTheFirstLineIsDue) {
  const GateWait wait;
  const timespec timeout = wait.NextTimeout();
  EXPECT_LE(timeout.tv_sec, 5);
  EXPECT_GE(timeout.tv_sec * 1'000'000'000 + timeout.tv_nsec, 1'000'000);
}

using GateAskTest = DifferentialTest;

TEST_F(GateAskTest, WhoComesToTheGateAsksForATurn) {
  daemon().LetIn(false);
  ASSERT_FALSE(daemon().CloseGate());
  while (daemon().Has<wire::GateWanted>()) daemon().Await<wire::GateWanted>();
  std::thread thread([] { const GateScope gate; });
  EXPECT_TRUE(daemon().Await<wire::GateWanted>());
  daemon().LetIn(true);
  thread.join();
}

TEST_F(GateAskTest, WhoWasLetInDoesNotAskAgain) {
  // SetUp has been through the gate.
  daemon().LetIn(false);
  while (daemon().Has<wire::GateWanted>()) daemon().Await<wire::GateWanted>();
  ASSERT_FALSE(daemon().CloseGate());
  daemon().Evict();  // its answer comes after everything that the closing brought about
  EXPECT_FALSE(daemon().Has<wire::GateWanted>());
}

}  // namespace
}  // namespace reveza::interpose::testing
