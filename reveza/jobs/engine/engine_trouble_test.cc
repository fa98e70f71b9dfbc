// Resource exhaustion and a locked journal: steps wait and none is lost.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "common/sqlite/sqlite.h"
#include "reveza/jobs/engine/testing_engine.h"
#include "reveza/jobs/journal/job_folder.h"

namespace reveza::jobs {
namespace engine_trouble_test {

using namespace std::chrono_literals;

class EngineTroubleTest : public EngineTest {
 protected:
  void AwaitFile(const char* name) {
    for (int i = 0; i < 6000 && !std::filesystem::exists(folder_ / name); ++i) {
      std::this_thread::sleep_for(10ms);
    }
  }
  auto NotesWith(std::string_view text) const {
    return std::ranges::count_if(listener_.notes, [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  }

  int refused_ = 0;
};

TEST_F(EngineTroubleTest, StartFailuresAreReportedOnceAndRetried) {
  // The first step finds its supervisor, which then has no descriptor left for the next outputs.
  const Job job =
      Shell("echo {n} >> ran; echo {n}; echo {n} >&2; [ {n} != 1 ] || echo $PPID > supervisor", 3);
  pid_t supervisor = 0;
  rlimit before{};
  listener_.on_end = [&](const AttemptResult& result) {
    if (supervisor == 0) {
      supervisor = std::stoi(Text("supervisor"));
      ASSERT_EQ(prlimit(supervisor, RLIMIT_NOFILE, nullptr, &before), 0);
      const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
      ASSERT_EQ(prlimit(supervisor, RLIMIT_NOFILE, &none, nullptr), 0);
    } else if (result.outcome == Outcome::kCancelled && ++refused_ == 2) {
      ASSERT_EQ(prlimit(supervisor, RLIMIT_NOFILE, &before, nullptr), 0);
    }
  };
  const auto summary = Run(job, Workers(1));
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(refused_, 2);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n");
  EXPECT_EQ(NotesWith("cannot start steps now: Too many open files"), 1);
}

// Locked for longer than SQLite's busy timeout: neither results nor retries can be written.
TEST_F(EngineTroubleTest, LockedJournalLosesNothing) {
  const Job job = Shell(
      "echo {n} >> ran; [ {n} != 1 -o -e again ] || { touch again begun; "
      "while [ ! -e go ]; do sleep 0.01; done; false; }",
      2);
  std::optional<Database> other;
  std::thread holder([&] {
    AwaitFile("begun");
    auto opened = Database::Open(JobFolder::Find(folder_.path(), "test")->journal());
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_TRUE(opened->Execute("BEGIN IMMEDIATE"));
    other = std::move(*opened);
    folder_.Write("go", "");
  });
  listener_.on_end = [&](const AttemptResult&) {
    if (!holder.joinable()) return;
    holder.join();
    other.reset();
  };
  RunRequest request = Workers(1);
  request.retries = 1;
  const auto summary = Run(job, request);
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(summary.counts.done, 2u);
  EXPECT_EQ(Text("ran"), "1\n1\n2\n");
  EXPECT_EQ(NotesWith("cannot write the journal"), 1);
}

}  // namespace engine_trouble_test
}  // namespace reveza::jobs
