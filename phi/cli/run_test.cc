// End-to-end tests of `phi run`: killed, stopped, invalid options.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/cli/exit_status.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "common/table/arrow.h"
#include "phi/arithmetic/processor.h"
#include "phi/output/rows.h"

namespace reveza::phi {
namespace run_test {

using platform::Ran;

class PhiRun : public testing::Test {
 protected:
  Ran Phi(const std::string& arguments) const {
    return platform::Shell("cd " + place_.path().string() + " && " REVEZA_PHI " " + arguments);
  }

  void ExpectError(const std::string& arguments, ExitStatus status, const std::string& part) const {
    const Ran ran = Phi(arguments);
    EXPECT_EQ(ran.status, status) << arguments << ": " << ran.output;
    EXPECT_TRUE(ran.output.starts_with("phi: ")) << arguments << ": " << ran.output;
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << "one line: " << ran.output;
  }

  std::string Text(const std::string& name) const {
    std::ifstream file(place_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Starts phi in the background.
  pid_t Start(const std::vector<std::string>& arguments) const {
    const pid_t child = fork();
    if (child != 0) return child;
    if (chdir(place_.path().c_str()) != 0) _exit(120);
    std::string program = REVEZA_PHI;
    std::vector<std::string> words = arguments;
    std::vector<char*> list = {program.data()};
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    execv(REVEZA_PHI, list.data());
    _exit(121);
  }

  // Returns the inode of a file, 0 if missing; each checkpoint is a new inode.
  ino_t FileNumber(const std::string& name) const {
    struct stat status = {};
    return stat((place_ / name).c_str(), &status) == 0 ? status.st_ino : 0;
  }

  // Waits for another checkpoint. Returns whether it was written and the process is alive.
  bool NextCheckpoint(pid_t child, const std::string& name, ino_t before) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      if (FileNumber(name) != before) return waitpid(child, nullptr, WNOHANG) == 0;
      if (waitpid(child, nullptr, WNOHANG) != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  platform::TestingDirectory place_;
};

constexpr const char* kSmall =
    "run --cycles 600 --runs 7 -d 40 --feedback 0.5 -m phi_legacy,si -q ";

TEST_F(PhiRun, TenSigkillsDoNotChangeRows) {
  ASSERT_EQ(Phi(std::string(kSmall) + "-o right").status, 0);
  const std::vector<std::string> arguments = {
      "run", "--cycles",      "600", "--runs", "7",      "-d", "40", "--feedback", "0.5",
      "-m",  "phi_legacy,si", "-q",  "-o",     "killed", "-k", "3",  "--threads",  "2"};
  for (int i = 0; i < 10; ++i) {
    const ino_t before = FileNumber("killed/checkpoint");
    const pid_t child = Start(arguments);
    ASSERT_GT(child, 0);
    ASSERT_TRUE(NextCheckpoint(child, "killed/checkpoint", before)) << i;
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  const Ran last = Phi(std::string(kSmall) + "-o killed -k 3");
  ASSERT_EQ(last.status, 0) << last.output;
  EXPECT_EQ(Text("killed/rows.csv"), Text("right/rows.csv"));
  EXPECT_GT(Text("right/rows.csv").size(), 100'000U);
}

TEST_F(PhiRun, RowsDoNotDependOnThreadsBatchesOrKernels) {
  const std::string all = "run --cycles 12 -d 100 --runs 256 -m none -q -o ";
  ASSERT_EQ(Phi(all + "right --threads 1").status, 0);
  const std::string right = Text("right/rows.csv");
  ASSERT_EQ(Phi(all + "two --threads 2").status, 0);
  EXPECT_EQ(Text("two/rows.csv"), right);
  if (SupportedInstructions() >= Instructions::kAvx2) {
    ASSERT_EQ(Phi(all + "narrow --kernel avx2 --threads 3").status, 0);
    EXPECT_EQ(Text("narrow/rows.csv"), right);
  }
  // Rows of a subset of the runs.
  for (const auto& [first, runs] : {std::pair(0, 1), std::pair(200, 7)}) {
    const std::string name = "batch-" + std::to_string(runs);
    ASSERT_EQ(Phi("run --cycles 12 -d 100 -m none -q -o " + name + " --first-run " +
                  std::to_string(first) + " --runs " + std::to_string(runs))
                  .status,
              0);
    std::ifstream made(place_ / (name + "/rows.csv"));
    std::string line;
    std::getline(made, line);
    int rows = 0;
    for (; std::getline(made, line); ++rows) {
      EXPECT_NE(right.find("\n" + line + "\n"), std::string::npos) << line;
    }
    EXPECT_EQ(rows, 12 * runs);
  }
}

TEST_F(PhiRun, StopsOnSignalAndResumes) {
  ASSERT_EQ(Phi(std::string(kSmall) + "-o right").status, 0);
  for (const auto& [signal, status] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    std::filesystem::remove_all(place_ / "stopped");
    const pid_t child = Start({"run", "--cycles", "600", "--runs", "7", "-d", "40", "--feedback",
                               "0.5", "-m", "phi_legacy,si", "-q", "-o", "stopped", "-k", "3"});
    ASSERT_GT(child, 0);
    // The first checkpoint is that of cycle 0.
    ASSERT_TRUE(NextCheckpoint(child, "stopped/checkpoint", 0));
    ASSERT_TRUE(NextCheckpoint(child, "stopped/checkpoint", FileNumber("stopped/checkpoint")));
    kill(child, signal);
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    ASSERT_TRUE(WIFEXITED(ended));
    EXPECT_EQ(WEXITSTATUS(ended), status);
    EXPECT_NE(Text("stopped/summary.json").find("\"finished\": false"), std::string::npos);
    ASSERT_EQ(Phi(std::string(kSmall) + "-o stopped").status, 0);
    EXPECT_EQ(Text("stopped/rows.csv"), Text("right/rows.csv"));
  }
}

TEST_F(PhiRun, ReportsSteps) {
  const std::string line = "run --cycles 25 -d 16 -m phi_legacy -q --steps -o steps -k 10";
  const Ran first = Phi(line);
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(std::ranges::count(first.output, '\n'), 25);
  EXPECT_TRUE(first.output.starts_with("reveza step 1\nreveza step 2\n")) << first.output;
  EXPECT_NE(first.output.find("\nreveza step 25 phi_legacy=0."), std::string::npos);
  // Reported steps are not reported again.
  const Ran second = Phi("run --cycles 32 -d 16 -m phi_legacy -q --steps --from 26 -o steps -k 10");
  EXPECT_TRUE(second.output.starts_with("reveza step 26 phi_legacy=")) << second.output;
  EXPECT_EQ(std::ranges::count(second.output, '\n'), 7);
}

TEST_F(PhiRun, WritesEachFormat) {
  ASSERT_EQ(Phi("run --cycles 3 -d 8 -q -o out").status, 0);
  EXPECT_TRUE(Text("out/rows.csv").starts_with("run,cycle,hash,"));
  EXPECT_EQ(Phi("run --cycles 3 -d 8 -q -o -").output.find("run,cycle,hash,"), 0U);
  if (!kHaveArrow) GTEST_SKIP() << "this build has no Arrow";
  ASSERT_EQ(Phi("run --cycles 3 -d 8 -q -o columns -f parquet").status, 0);
  EXPECT_TRUE(Text("columns/rows.parquet/part-000000.parquet").starts_with("PAR1"));
}

TEST_F(PhiRun, ReportsInvalidOptions) {
  ExpectError("run --cycels 5", kUsage, "did you mean '--cycles'?");
  ExpectError("run --cycles 0", kUsage, "--cycles is 0");
  ExpectError("run -m phi_gg", kUsage, "did you mean 'phi_g'?");
  ExpectError("run -d 0", kUsage, "1 to 65536");
  ExpectError("run --temperature -1", kUsage, "the temperature is -1");
  ExpectError("run --kernel sse", kUsage, "use plain, avx2 or avx512");
  ExpectError("run --threads -1", kUsage, "--threads");
  ExpectError("run --device gpu9", kUsage, "use cpu, gpu, gpu:N or auto");
  ExpectError("run --device gpu:x", kUsage, "use cpu, gpu, gpu:N or auto");
  ExpectError("run --graph-cycles -1", kUsage, "--graph-cycles");
  ExpectError("run -f parquet -o -", kUsage, "Parquet");
  ExpectError("run --window 5", kUsage, "--window is 5");
  ExpectError("run -d 65536 --runs 4000000000", kUsage, "");
  ExpectError("run -d 65536 --runs 100000000", kNoRoom, "are free; use fewer --runs");
  ExpectError("run -d 8 -o /proc/nowhere", kOutput, "/proc/nowhere");
}

TEST_F(PhiRun, GpuFailsWithoutDriverAndAutoFallsBack) {
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); driver != nullptr) {
    dlclose(driver);
    GTEST_SKIP() << "there is a driver";
  }
  ExpectError("run --cycles 3 -d 8 --device gpu", kOutput, "no GPU available");
  const auto chosen = Phi("run --cycles 3 -d 8 --device auto");
  EXPECT_EQ(chosen.status, 0);
  EXPECT_NE(chosen.output.find("cpu "), std::string::npos) << chosen.output;
}

TEST_F(PhiRun, RejectsCheckpointWithOtherParameters) {
  ASSERT_EQ(Phi("run --cycles 3 -d 8 -q -o out").status, 0);
  ExpectError("run --cycles 3 -d 8 --seed 2 -o out", kOtherData, "--seed is 1 there and 2 here");
  ExpectError("run --cycles 2 -d 8 -o out", kOtherData, "already at cycle 3");
  EXPECT_EQ(Phi("run --cycles 3 -d 8 --seed 2 -q -o out --fresh").status, 0);
}

TEST_F(PhiRun, ReportsMemoryRequirement) {
  const std::string much = "run -d 8 --runs 100000 --cycles 1000000 ";
  ExpectError(much + "-m si --window 100000", kNoRoom, "use fewer --runs, or a shorter --window");
  // Pinned host memory for observations.
  ExpectError("run -d 1 --runs 1000000000 -m none --device gpu --graph-cycles 1024", kNoRoom,
              "(cycles 134 TiB, ");
  if (!kHaveArrow) GTEST_SKIP() << "this build has no Arrow";
  ExpectError(much + "-m none -k 1000000 -f parquet -o out", kNoRoom,
              "use fewer --runs, or a lower --checkpoint-every");
  EXPECT_FALSE(std::filesystem::exists(place_ / "out"));
}

TEST_F(PhiRun, DoesNotOverwriteForeignFiles) {
  std::filesystem::create_directory(place_ / "out");
  std::ofstream(place_ / "out/rows.csv") << "precious";
  ExpectError("run --cycles 3 -d 8 -o out", kOtherData, "--fresh");
  EXPECT_EQ(Text("out/rows.csv"), "precious");
  EXPECT_EQ(Phi("run --cycles 3 -d 8 -q -o out --fresh").status, 0);
  EXPECT_EQ(Phi("run --cycles 5 -d 8 -q -o out").status, 0);
  const std::string rows = Text("out/rows.csv");
  EXPECT_EQ(std::ranges::count(rows, '\n'), 6);
}

TEST_F(PhiRun, PrintsNulls) {
  const std::string said = Phi("run --cycles 40 -d 64 -m phi_legacy,si -o out").output;
  EXPECT_NE(said.find("\n             independent noise gives about 0.13 (0.12 to 0.14)\n"),
            std::string::npos)
      << said;
  EXPECT_NE(Text("out/summary.json").find("\"null\": {\n        \"mean\": 0.13"), std::string::npos)
      << Text("out/summary.json");
  const std::string others = Phi("run --cycles 40 -d 64 -m i,si --window 20 --every 10").output;
  EXPECT_EQ(others.find("independent noise"), std::string::npos);
  const auto null = others.find("\n             independent modules give about ");
  EXPECT_LT(others.find("\nsi "), null) << others;
  EXPECT_EQ(others.find("independent modules", null + 20), std::string::npos) << others;
}

// A file system of 16 MiB that is nearly full until a file is removed.
TEST_F(PhiRun, ResumesAfterENOSPC) {
  const std::string disk = (place_ / "disk").string();
  std::filesystem::create_directory(disk);
  const std::string mount = "mount -t tmpfs -o size=16m tmpfs " + disk;
  if (platform::Shell("unshare --mount sh -c '" + mount + "'").status != 0) {
    GTEST_SKIP() << "needs a mount of its own: root only";
  }
  const std::string run = "run --cycles 300 --runs 64 -d 100 -m si -k 10 -q ";
  ASSERT_EQ(Phi(run + "-o right").status, 0);
  const std::string right = Text("right/rows.csv");
  ASSERT_GT(right.size(), 2U << 20);
  const auto on_disk = [&](const std::string& format, int filler) {
    const std::string command = std::string(REVEZA_PHI) + " " + run + format + " -o " + disk;
    std::ofstream(place_ / "script")
        << mount << " || exit 99\n"
        << "head -c " << filler << " /dev/zero > " << disk << "/filler\n"
        << command << " 2> said; echo $? > status\n"
        << "cp " << disk << "/checkpoint then; rm " << disk << "/filler\n"
        << command << " --json > summary; echo $? >> status\n"
        << "cp -r " << disk << "/rows.* .\n";
    return platform::Shell("cd " + place_.path().string() + " && unshare --mount sh script");
  };
  const auto expect_told = [&] {
    EXPECT_EQ(Text("status"), "16\n0\n") << Text("said");
    EXPECT_TRUE(Text("said").starts_with("phi: ")) << Text("said");
    EXPECT_NE(Text("said").find("No space left on device; make room"), std::string::npos)
        << Text("said");
    const std::string said = Text("said");
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    // Some of the cycles were saved.
    EXPECT_EQ(Text("then").find("\"cycle\":0,"), std::string::npos);
    EXPECT_NE(Text("then").find("\"cycle\":"), std::string::npos);
    const std::string hashes = Text("right/summary.json");
    const std::string made = Text("summary");
    EXPECT_EQ(made.substr(made.find("\"hashes\"")), hashes.substr(hashes.find("\"hashes\"")));
  };
  on_disk("-f csv", 15'000'000);
  expect_told();
  EXPECT_EQ(Text("rows.csv"), right);
  if (!kHaveArrow) return;
  on_disk("-f parquet", 15'600'000);
  expect_told();
}

}  // namespace run_test
}  // namespace reveza::phi
