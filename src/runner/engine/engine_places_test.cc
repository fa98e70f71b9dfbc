// What a step needs before it can begin cannot be made: a folder, a record, a supervisor.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "runner/engine/testing_engine.h"

namespace reveza::runner {
namespace {

using EnginePlacesTest = EngineTest;

TEST_F(EnginePlacesTest, AFolderThatCannotBeMadeIsNamedOnceAndWaitedFor) {
  folder_.Write("out/000", "no folder");
  const std::string folder = folder_ / "out/000";
  RunRequest request = Workers(1);
  request.output_folder = folder_ / "out";
  const auto is_named = [&](const std::string& note) {
    return note.starts_with("cannot make " + folder + ", where steps print to: ");
  };
  int waits = 0;
  Hurry();
  listener_.on_progress = [&] {
    clock_.Move(std::chrono::milliseconds(200));
    if (std::ranges::none_of(listener_.notes, is_named) || ++waits < 8) return;
    if (std::filesystem::is_regular_file(folder)) std::filesystem::remove(folder);
  };
  EXPECT_EQ(Run(Shell("echo {n}", 2), request).end, Engine::End::kDone);
  EXPECT_EQ(std::ranges::count_if(listener_.notes, is_named), 1);
  EXPECT_EQ(Text("out/000/1.out"), "1\n");
}

// In place of the supervisor, the first time, a line for the shell.
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
  bool Said(const std::string& words) const {
    return std::ranges::count(listener_.notes, words) == 1;
  }
};

TEST_F(FirstSupervisorTest, WhoIsKilledAtItsStartHasBegunNothing) {
  First("kill -9 $$");
  RunRequest request = Workers(1);
  request.on_unknown = OnUnknown::kHold;
  EXPECT_EQ(Run(Shell("echo {n} >> ran", 2), request).end, Engine::End::kDone);
  EXPECT_TRUE(
      Said("the supervisor of step n=1 was killed by signal 9 before it had said anything; the "
           "step was not begun, and has another turn"))
      << listener_.notes.back();
  EXPECT_EQ(Text("ran"), "1\n2\n");
}

TEST_F(FirstSupervisorTest, WhoCannotMakeItsRecordSaysWhy) {
  First("exec " REVEZA_SUPERVISOR " $1 no/such/record");
  EXPECT_EQ(Run(Shell("echo {n} >> ran", 2), Workers(1)).end, Engine::End::kDone);
  EXPECT_TRUE(
      Said("step n=1 was not begun: cannot create no/such/record: No such file or directory; is "
           "there room, and may files be made there?"))
      << listener_.notes.back();
  EXPECT_EQ(Text("ran"), "1\n2\n");
}

}  // namespace
}  // namespace reveza::runner
