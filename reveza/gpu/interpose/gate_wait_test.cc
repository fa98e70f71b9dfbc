// Notices of a thread blocked at the closed gate.
#include "reveza/gpu/interpose/gate_wait.h"

#include <gtest/gtest.h>

#include <algorithm>
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
