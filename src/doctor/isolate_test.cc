#include "doctor/isolate.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace reveza::doctor {
namespace {

using std::chrono::seconds;

TEST(Isolate, BringsBackWhatWasFound) {
  const Finding finding{Id::kSwap, Severity::kNote, Sureness::kMeasured, "a\nb", "", "c", "d"};
  EXPECT_EQ(RunIsolated("x", seconds(60), [&] { return Findings{finding, finding}; }),
            (Findings{finding, finding}));
  EXPECT_TRUE(RunIsolated("x", seconds(60), [] { return Findings{}; }).empty());
}

TEST(Isolate, ManyFindingsPassThroughThePipe) {
  const Finding finding{
      Id::kSwap, Severity::kNote, Sureness::kMeasured, std::string(4000, 'x'), "", "c", "d"};
  EXPECT_EQ(RunIsolated("x", seconds(60), [&] { return Findings(100, finding); }).size(), 100u);
}

TEST(Isolate, ACrashIsSaid) {
  const auto killed = RunIsolated("limits", seconds(60), []() -> Findings {
    raise(SIGKILL);
    return {};
  });
  ASSERT_EQ(killed.size(), 1u);
  EXPECT_EQ(killed[0].id, Id::kCheckFailed);
  EXPECT_EQ(killed[0].observed, "the check 'limits' crashed: Killed");
  const auto ended = RunIsolated("limits", seconds(60), []() -> Findings { _exit(7); });
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_NE(ended[0].observed.find("crashed: it ended with status 7"), std::string::npos);
  const auto thrown =
      RunIsolated("limits", seconds(60), []() -> Findings { throw std::runtime_error("no"); });
  ASSERT_EQ(thrown.size(), 1u);
  EXPECT_EQ(thrown[0].id, Id::kCheckFailed);
}

TEST(Isolate, HangingIsEndedAndWhatItStartedToo) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto hung = RunIsolated("slow", std::chrono::milliseconds(300), []() -> Findings {
    if (fork() == 0) {
      for (;;) pause();
    }
    for (;;) pause();
  });
  ASSERT_EQ(hung.size(), 1u);
  EXPECT_NE(hung[0].observed.find("did not come back within"), std::string::npos);
  // Its end of the pipe is closed only when all who inherited it are gone.
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace reveza::doctor
