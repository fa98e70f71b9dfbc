// Notices and signal handling of a thread blocked at the closed gate.
#include "reveza/gpu/interpose/gate_wait.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace gate_wait_test {

std::string CaptureNotices(void (*run)()) {
  ::testing::internal::CaptureStderr();
  run();
  return ::testing::internal::GetCapturedStderr();
}

TEST(PrintNoticeTest, PrintsOneLineWithPrefix) {
  EXPECT_EQ(CaptureNotices([] { PrintNotice("%d of %s", 3, "them"); }), "reveza: 3 of them\n");
}

TEST(PrintNoticeTest, TruncatesLongLines) {
  const std::string line =
      CaptureNotices([] { PrintNotice("%s", std::string(5000, 'x').c_str()); });
  EXPECT_LE(line.size(), 512u);
  EXPECT_GT(line.size(), 400u);
  EXPECT_TRUE(line.ends_with("x\n"));
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
}

TEST(PrintNoticeTest, IsSilentWithQuietSet) {
  setenv("REVEZA_QUIET", "1", 1);
  EXPECT_EQ(CaptureNotices([] { PrintNotice("anything"); }), "");
  setenv("REVEZA_QUIET", "0", 1);
  EXPECT_NE(CaptureNotices([] { PrintNotice("anything"); }), "");
  unsetenv("REVEZA_QUIET");
}

std::atomic<int> handled{0};

struct sigaction Handler() {
  struct sigaction now{};
  sigaction(SIGINT, nullptr, &now);
  return now;
}

TEST(GateWaitTest, DoesNotWrapTheDefaultHandler) {
  signal(SIGINT, SIG_DFL);  // ignored in background jobs of a shell
  const GateWait wait;
  EXPECT_EQ(Handler().sa_handler, SIG_DFL);
}

TEST(GateWaitTest, WrapsAndRestoresTheProgramsHandler) {
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
    wait.OnInterrupt();
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("press Ctrl-C again"),
              std::string::npos);
  }
  EXPECT_EQ(Handler().sa_handler, program.sa_handler);
  EXPECT_NE(Handler().sa_flags & SA_RESTART, 0);
  signal(SIGINT, SIG_DFL);
}

TEST(GateWaitTest, KeepsAHandlerSetDuringTheWait) {
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

TEST(GateWaitDeathTest, SecondInterruptTerminatesTheProgram) {
  EXPECT_EXIT(
      {
        struct sigaction program{};
        program.sa_handler = [](int) { ++handled; };
        sigaction(SIGINT, &program, nullptr);
        GateWait wait;
        for (int i = 1; i <= 2; ++i) {
          raise(SIGINT);
          // The thread sanitizer delivers signals only in blocking calls.
          for (int k = 0; k < 10'000 && handled < i; ++k) usleep(1000);
        }
        wait.OnInterrupt();
        _exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

TEST(GateWaitTest, TimeoutEndsAtTheFirstNotice) {
  const GateWait wait;
  const timespec timeout = wait.NextTimeout();
  EXPECT_LE(timeout.tv_sec, 5);
  EXPECT_GE(timeout.tv_sec * 1'000'000'000 + timeout.tv_nsec, 1'000'000);
}

using GateRequestTest = DifferentialTest;

TEST_F(GateRequestTest, BlockedThreadSendsGateRequested) {
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  while (daemon().Has<wire::GateRequested>()) daemon().Await<wire::GateRequested>();
  std::thread thread([] { const GateScope gate; });
  EXPECT_TRUE(daemon().Await<wire::GateRequested>());
  daemon().SetAutoOpen(true);
  thread.join();
}

TEST_F(GateRequestTest, AdmittedThreadSendsNoGateRequested) {
  // SetUp has passed the gate.
  daemon().SetAutoOpen(false);
  while (daemon().Has<wire::GateRequested>()) daemon().Await<wire::GateRequested>();
  ASSERT_FALSE(daemon().CloseGate());
  daemon().Evict();  // its answer follows all messages caused by closing
  EXPECT_FALSE(daemon().Has<wire::GateRequested>());
}

}  // namespace gate_wait_test
}  // namespace reveza::interpose::testing
