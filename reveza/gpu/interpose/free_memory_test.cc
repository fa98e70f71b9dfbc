// Scripts in the place of nvidia-smi.
#include "reveza/gpu/interpose/free_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/platform/testing_directory.h"

namespace reveza::interpose {
namespace free_memory_test {

constexpr CUuuid kCard = {{0x1b, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x7f}};
constexpr const char* kName = "GPU-1b020304-0506-0708-090a-0b0c0d0e0f7f";

std::atomic<int> signals = 0;

class FreeMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("PATH", (std::string(root_ / "") + ":" + path_).c_str(), 1);
    setenv("LD_PRELOAD", "", 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("LD_PRELOAD");
  }
  void Install(const std::string& script) {
    const auto path = root_ / "nvidia-smi";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  void Print(const std::string& text) { Install("cat <<'END'\n" + text + "\nEND\n"); }

  const std::string path_ = getenv("PATH");
  platform::TestingDirectory root_;
};

TEST_F(FreeMemoryTest, OfTheCardThatIsMeant) {
  Print("GPU-00000000-0506-0708-090a-0b0c0d0e0f7f, 11\n" + std::string(kName) + ", 80994");
  EXPECT_EQ(FreeMemoryOf(kCard), 80994 * kMiB);
}

TEST_F(FreeMemoryTest, UnknownCardsAndTextsAreUnknown) {
  for (const std::string text :
       {"GPU-00000000-0506-0708-090a-0b0c0d0e0f7f, 11", "", "Failed to initialize NVML",
        "GPU-1b020304-0506-0708-090a-0b0c0d0e0f7f, [N/A]",
        "GPU-1b020304-0506-0708-090a-0b0c0d0e0f7f"}) {
    Print(text);
    EXPECT_EQ(FreeMemoryOf(kCard), std::nullopt) << text;
  }
  Install("printf '" + std::string(kName) + ", 80'");
  EXPECT_EQ(FreeMemoryOf(kCard), std::nullopt) << "cut off";
}

TEST_F(FreeMemoryTest, AMissingProgramIsUnknown) {
  setenv("PATH", "/nowhere", 1);
  EXPECT_EQ(FreeMemoryOf(kCard), std::nullopt);
}

TEST_F(FreeMemoryTest, AsksForBytesOfAllCardsWithoutLibreveza) {
  Install(
      "[ \"$*\" = '--query-gpu=uuid,memory.free --format=csv,noheader,nounits' ] || exit 1\n"
      "[ -z \"${LD_PRELOAD+set}\" ] && echo '" +
      std::string(kName) + ", 7'");
  EXPECT_EQ(FreeMemoryOf(kCard), 7 * kMiB);
}

TEST_F(FreeMemoryTest, TheProgramSeesNoChild) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { ++signals; };
  sigaction(SIGCHLD, &action, &before);
  Print(std::string(kName) + ", 7");
  EXPECT_EQ(FreeMemoryOf(kCard), 7 * kMiB);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(signals, 0);
  sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace free_memory_test
}  // namespace reveza::interpose
