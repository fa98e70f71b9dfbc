// A step's output folder, record or supervisor cannot be created.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_places_test {

using EnginePlacesTest = EngineTest;

TEST_F(EnginePlacesTest, UncreatableOutputFolderIsReportedOnceAndRetried) {
  folder_.Write("out/000", "no folder");
  const std::string folder = folder_ / "out/000";
  RunRequest request = Workers(1);
  request.output_folder = folder_ / "out";
  const auto is_named = [&](const std::string& note) {
    return note.starts_with("cannot create the output folder " + folder);
  };
  int waits = 0;
  Hurry();
  listener_.on_progress = [&] {
    clock_.Move(std::chrono::milliseconds(200));
    if (std::ranges::none_of(listener_.notes, is_named) || ++waits < 8) return;
    if (std::filesystem::is_regular_file(folder)) std::filesystem::remove(folder);
  };
  EXPECT_EQ(Run(Shell("echo {n}", 2), request).end, Engine::RunEnd::kDone);
  EXPECT_EQ(std::ranges::count_if(listener_.notes, is_named), 1);
  EXPECT_EQ(Text("out/000/1.out"), "1\n");
}

TEST_F(EnginePlacesTest, OutputsOfAnotherJobAreNotTakenForThoseOfASilentStep) {
  folder_.Write("out/000/1.out", "old");
  folder_.Write("out/000/2.err", "old");
  RunRequest request = Workers(1);
  request.output_folder = folder_ / "out";
  EXPECT_EQ(Run(Shell("[ {n} = 2 ] || echo {n} >&2", 3), request).end, Engine::RunEnd::kDone);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/000/1.out"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/000/2.err"));
  EXPECT_EQ(Text("out/000/1.err"), "1\n");
  EXPECT_EQ(Text("out/000/3.err"), "3\n");
}

// Replaces the first supervisor by a shell line.
class FirstSupervisorTest : public EngineTest {
 protected:
  void First(const std::string& line) {
    folder_.Write("supervisor", "#!/bin/sh\ncd " + folder_.path().string() +
                                    "\nif [ ! -e first ]; then touch first; " + line +
                                    "; fi\nexec " + REVEZA_SUPERVISOR " \"$@\"\n");
    std::filesystem::permissions(folder_ / "supervisor", std::filesystem::perms::owner_all);
    Hurry();
    prepare_ = [this](EngineParts& parts) { parts.supervisor = folder_ / "supervisor"; };
  }
  // Whether exactly one note contains the text.
  bool ReportedOnce(const std::string& text) const {
    return std::ranges::count_if(listener_.notes,
                                 [&](const std::string& note) { return note.contains(text); }) == 1;
  }
};

TEST_F(FirstSupervisorTest, SupervisorKilledAtStartRequeuesStep) {
  First("kill -9 $$");
  RunRequest request = Workers(1);
  request.on_unknown = OnUnknown::kHold;
  EXPECT_EQ(Run(Shell("echo {n} >> ran", 2), request).end, Engine::RunEnd::kDone);
  EXPECT_TRUE(ReportedOnce(
      "the supervisor of step n=1 was killed by signal 9 before it created its record"))
      << listener_.notes.back();
  EXPECT_EQ(Text("ran"), "1\n2\n");
}

TEST_F(FirstSupervisorTest, SupervisorWithoutRecordReportsReason) {
  First("exec " REVEZA_SUPERVISOR " $1 no/such/record");
  EXPECT_EQ(Run(Shell("echo {n} >> ran", 2), Workers(1)).end, Engine::RunEnd::kDone);
  EXPECT_TRUE(ReportedOnce("step n=1 was not started: cannot create no/such/record"))
      << listener_.notes.back();
  EXPECT_EQ(Text("ran"), "1\n2\n");
}

}  // namespace engine_places_test
}  // namespace reveza::jobs
