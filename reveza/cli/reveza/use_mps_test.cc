// `reveza run` under MPS, with the script of the daemon's tests in place of NVIDIA's program.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "common/platform/text_file.h"
#include "reveza/cli/reveza/exit_status.h"

namespace reveza::cli {
namespace use_mps_test {

using nlohmann::json;
using platform::Ran;

class UseMpsTest : public testing::Test {
 protected:
  UseMpsTest() {
    place_.Write("show",
                 "echo $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_LOG_DIRECTORY "
                 "$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  }
  // Runs `reveza`, which is $REVEZA. The script $SHOW prints what a program sees of MPS.
  Ran Reveza(const std::string& arguments) const {
    const std::string place = place_.path();
    return platform::Shell("env -i PATH=" + path_ + " HOME=" + place + " XDG_RUNTIME_DIR=" + place +
                           " CUDA_MPS_PIPE_DIRECTORY=" + pipes_ + " SHOW=" + place +
                           "/show REVEZA=" REVEZA_PROGRAM " " + extra_ + " sh -c '$REVEZA " +
                           arguments + "'");
  }
  void SetUp() override {
    if (!std::filesystem::exists(REVEZA_LIBRARY)) GTEST_SKIP() << "libreveza.so is not built";
  }
  void TearDown() override {
    Reveza("stop --force");
    for (const auto& pid_file :
         {place_ / "own/nvidia-cuda-mps-control.pid",
          place_ / ("reveza/mps-" + User() + "/nvidia-cuda-mps-control.pid")}) {
      if (const auto pid = platform::ReadText(pid_file)) platform::Shell("kill -9 " + *pid);
    }
  }
  static std::string User() { return std::to_string(geteuid()); }
  std::string Folder() const { return place_ / ("reveza/mps-" + User()); }
  std::string Calls() const { return platform::ReadText(place_ / "reveza/calls").value_or(""); }

  platform::TestingDirectory place_;
  std::string path_ = std::string(REVEZA_TEST_MPS_FOLDER) + ":/usr/bin:/bin";
  std::string pipes_ = place_ / "own";  // where no control daemon runs
  std::string extra_;
};

constexpr char kShow[] = "-- sh $SHOW";

TEST_F(UseMpsTest, ProgramFindsTheControlDaemonOfItsUser) {
  const Ran ran = Reveza(std::string("run --mps ") + kShow);
  EXPECT_EQ(ran, (Ran{0, Folder() + " " + Folder() + "/log\n"}));
}

TEST_F(UseMpsTest, IsOffByDefault) {
  EXPECT_EQ(Reveza(std::string("run ") + kShow), (Ran{0, pipes_ + "\n"}));
  EXPECT_EQ(Calls(), "");
}

TEST_F(UseMpsTest, AutoIsForAllPrograms) {
  extra_ = "REVEZA_MPS=auto";
  EXPECT_EQ(Reveza(std::string("run ") + kShow), (Ran{0, Folder() + " " + Folder() + "/log\n"}));
}

TEST_F(UseMpsTest, MissingProgramEndsOnlyWhatAsksForIt) {
  path_ = "/usr/bin:/bin";
  extra_ = "REVEZA_MPS=auto";
  const Ran refused = Reveza(std::string("run --mps ") + kShow);
  EXPECT_EQ(refused.status, kNoMps);
  EXPECT_TRUE(refused.output.starts_with(
      "reveza: --mps: the daemon finds no nvidia-cuda-mps-control in its PATH"))
      << refused.output;
  const Ran without = Reveza(std::string("run ") + kShow);
  EXPECT_EQ(without.status, 0);
  EXPECT_TRUE(without.output.starts_with("reveza: without MPS: ")) << without.output;
  EXPECT_EQ(Reveza(std::string("run --quiet ") + kShow), (Ran{0, pipes_ + "\n"}));
}

TEST_F(UseMpsTest, TheUsersOwnControlDaemonIsUsed) {
  std::filesystem::create_directories(pipes_);
  ASSERT_EQ(platform::Shell("CUDA_MPS_PIPE_DIRECTORY=" + pipes_ +
                            " " REVEZA_TEST_MPS_FOLDER "/nvidia-cuda-mps-control -d")
                .status,
            0);
  EXPECT_EQ(Reveza(std::string("run --mps ") + kShow),
            (Ran{0, "reveza: using the MPS control daemon that runs at " + pipes_ + "\n" + pipes_ +
                        "\n"}));
  EXPECT_EQ(Calls(), "");
  Reveza("stop");
  EXPECT_EQ(platform::Shell("kill -0 $(cat " + pipes_ + "/nvidia-cuda-mps-control.pid)").status, 0);
}

TEST_F(UseMpsTest, AWeightIsAShareOfTheThreads) {
  EXPECT_EQ(Reveza(std::string("run --mps --weight 2 ") + kShow),
            (Ran{0, Folder() + " " + Folder() + "/log 67\n"}));
  extra_ = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30";
  EXPECT_EQ(Reveza(std::string("run --mps --weight 2 ") + kShow),
            (Ran{0, Folder() + " " + Folder() + "/log 30\n"}));
}

TEST_F(UseMpsTest, StatusShowsWhoUsesIt) {
  const Ran ran = Reveza("run --mps -- sh -c \"echo \\$REVEZA_JOB; \\$REVEZA status --json\"");
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto end = ran.output.find('\n');
  const json mps = json::parse(ran.output.substr(end)).at("mps");
  EXPECT_EQ(mps.at("mode"), "off");
  EXPECT_EQ(mps.at("users").at(0).at("state"), "running");
  EXPECT_EQ(mps.at("users").at(0).at("folder"), Folder());
  EXPECT_EQ(mps.at("users").at(0).at("jobs"), json{ran.output.substr(0, end)});
}

// A run inside a run under MPS is a job of its own, which uses it too.
TEST_F(UseMpsTest, ARunInsideItIsCounted) {
  const Ran ran = Reveza(
      "run --mps --weight 2 -- $REVEZA run -- sh -c \"sh \\$SHOW; \\$REVEZA status --json\"");
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto end = ran.output.find('\n');
  EXPECT_EQ(ran.output.substr(0, end), Folder() + " " + Folder() + "/log");
  EXPECT_EQ(json::parse(ran.output.substr(end)).at("/mps/users/0/jobs"_json_pointer).size(), 2u);
}

TEST_F(UseMpsTest, StopEndsIt) {
  EXPECT_EQ(Reveza("run --mps -- true").status, 0);
  EXPECT_EQ(Reveza("stop").status, 0);
  for (int i = 0; i < 600 && !Calls().ends_with("quit\n"); ++i) platform::Shell("sleep 0.05");
  EXPECT_TRUE(Calls().ends_with("quit\n")) << Calls();
}

}  // namespace use_mps_test
}  // namespace reveza::cli
