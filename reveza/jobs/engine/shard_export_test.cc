#include "reveza/jobs/engine/shard_export.h"

#include <sys/wait.h>
#include <unistd.h>

#include "common/platform/machine.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace shard_export_test {

using namespace std::chrono_literals;

class ShardExportTest : public EngineTest {
 protected:
  RunRequest Exported() const {
    RunRequest request = Workers(1);
    request.export_folder = folder_ / "shared";
    return request;
  }
  std::filesystem::path Copy() const { return folder_ / "shared/shard-1-of-1.db"; }
  // Returns how many steps the copy says are done; nullopt if there is none.
  std::optional<std::uint64_t> DoneInCopy() const {
    auto reader = JournalReader::Open(Copy());
    if (!reader) return std::nullopt;
    return reader->CountStates().value()[StepState::kDone];
  }
};

TEST_F(ShardExportTest, CopiesEveryHalfMinuteAndAtTheEnd) {
  hurries_ = true;
  listener_.on_progress = [this] { clock_.Move(10s); };
  std::vector<std::uint64_t> done;
  listener_.on_end = [&](const AttemptResult&) { done.push_back(DoneInCopy().value_or(99)); };
  EXPECT_EQ(Run(Shell("sleep 1.5", 2), Exported()).end, RunEnd::kDone);
  EXPECT_EQ(done, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(DoneInCopy(), 2u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "shared/shard-1-of-1.owner"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "shared/commands.json"));
}

TEST_F(ShardExportTest, GoesOnIfTheFolderIsLost) {
  RunRequest request = Exported();
  request.output_folder = folder_ / "outputs";
  listener_.on_end = [&](const AttemptResult&) {
    std::filesystem::remove_all(folder_ / "shared");
    std::ofstream(folder_ / "shared") << "a file";
  };
  EXPECT_EQ(Run(Shell("true {n}", 3), request).end, RunEnd::kDone);
  EXPECT_TRUE(std::ranges::any_of(listener_.notes, [](const std::string& note) {
    return note.contains("cannot copy the journal to") && note.contains("tries again");
  }));
}

TEST_F(ShardExportTest, HasOneOwner) {
  const auto owner = folder_ / "shared/shard-1-of-2.owner";
  {
    const auto first = ShardExport::Claim(folder_ / "shared", {1, 2});
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_TRUE(std::filesystem::exists(owner));
    EXPECT_TRUE(ShardExport::Claim(folder_ / "shared", {2, 2})) << "another shard";
  }
  EXPECT_FALSE(std::filesystem::exists(owner)) << "given up";
  std::ofstream(owner) << "elsewhere 1\n";
  EXPECT_EQ(ShardExport::Claim(folder_ / "shared", {1, 2}).error().code, Error::Code::kUnavailable);
  EXPECT_TRUE(std::filesystem::exists(owner)) << "of the other machine";
  std::filesystem::last_write_time(owner, std::filesystem::file_time_type::clock::now() - 121s);
  EXPECT_TRUE(ShardExport::Claim(folder_ / "shared", {1, 2})) << "not heard of for two minutes";
  std::ofstream(owner) << platform::HostName() << " 2147483646\n";
  EXPECT_TRUE(ShardExport::Claim(folder_ / "shared", {1, 2})) << "a process that is gone";
}

TEST_F(ShardExportTest, IsTakenOverByOneProcess) {
  constexpr int kProcesses = 8;
  const auto owner = folder_ / "shared/shard-1-of-2.owner";
  std::filesystem::create_directories(folder_ / "shared");
  for (int round = 0; round < 20; ++round) {
    std::ofstream(owner) << "elsewhere 1\n";
    std::filesystem::last_write_time(owner, std::filesystem::file_time_type::clock::now() - 121s);
    int outcomes[2];
    ASSERT_EQ(pipe(outcomes), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        const auto claim = ShardExport::Claim(folder_ / "shared", {1, 2});
        const char owns = claim ? 1 : 0;
        if (write(outcomes[1], &owns, 1) == 1) pause();  // alive until all have tried
        _exit(1);
      }
      children.push_back(child);
    }
    int owners = 0;
    char owns = 0;
    for (int i = 0; i < kProcesses && read(outcomes[0], &owns, 1) == 1; ++i) owners += owns;
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      EXPECT_EQ(waitpid(child, nullptr, 0), child);
    }
    close(outcomes[0]);
    close(outcomes[1]);
    EXPECT_EQ(owners, 1);
    EXPECT_FALSE(std::filesystem::exists(owner.string() + ".takeover"));
  }
}

TEST_F(ShardExportTest, ADeathDuringATakeoverStopsNobody) {
  const auto owner = folder_ / "shared/shard-1-of-2.owner";
  std::filesystem::create_directories(folder_ / "shared");
  for (const auto& file : {owner, std::filesystem::path(owner.string() + ".takeover")}) {
    std::ofstream(file) << platform::HostName() << " 2147483646\n";
  }
  EXPECT_TRUE(ShardExport::Claim(folder_ / "shared", {1, 2}));
}

// Its machine was suspended for longer than others wait.
TEST_F(ShardExportTest, EndsItsStepsIfAnotherMachineHasTakenOver) {
  hurries_ = true;
  const auto owner = folder_ / "shared/shard-1-of-1.owner";
  listener_.on_progress = [&] {
    clock_.Move(10s);
    if (!listener_.started.empty()) std::ofstream(owner) << "elsewhere 1\n";
  };
  const auto summary = Run(Shell("sleep 60", 2), Exported());
  EXPECT_EQ(summary.end, RunEnd::kInterrupted);
  EXPECT_EQ(summary.counts.done, 0u);
  EXPECT_TRUE(std::ranges::any_of(listener_.notes, [](const std::string& note) {
    return note.starts_with("process 1 on elsewhere has taken over");
  }));
  std::ifstream text(owner);
  std::string host;
  EXPECT_TRUE(text >> host && host == "elsewhere") << "its file stays";
}

TEST_F(ShardExportTest, ADeadProcessThatNobodyWaitedForOwnsNothing) {
  std::filesystem::create_directories(folder_ / "shared");
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  std::ofstream(folder_ / "shared/shard-1-of-2.owner")
      << platform::HostName() << " " << child << "\n";
  EXPECT_TRUE(ShardExport::Claim(folder_ / "shared", {1, 2}));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(ShardExportTest, PodsOfOneTaskAreDifferentOwners) {
  // Their host names are the same, and so are the numbers of their processes.
  setenv("POD_UID", "one", 1);
  {
    const auto one = ShardExport::Claim(folder_ / "shared", {1, 2});
    EXPECT_TRUE(one);
    setenv("POD_UID", "other", 1);
    const auto other = ShardExport::Claim(folder_ / "shared", {1, 2});
    EXPECT_FALSE(other);
    setenv("POD_UID", "one", 1);
  }
  EXPECT_TRUE(ShardExport::Claim(folder_ / "shared", {1, 2})) << "the owner has gone";
  unsetenv("POD_UID");
}

TEST_F(ShardExportTest, RefusesAFolderThatCannotBeMade) {
  std::ofstream(folder_ / "file") << "x";
  const auto refused = ShardExport::Claim(folder_ / "file/shared", {1, 1});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("--export: cannot create "));
}

TEST_F(ShardExportTest, TakesOverWhatALostMachineHadDone) {
  Run(Shell("echo {n} >> ran; [ {n} != 2 ]", 3), Exported());
  std::filesystem::remove_all(folder_ / "jobs");
  EXPECT_EQ(Run(Shell("echo {n} >> ran; [ {n} != 2 ]", 3), Exported()).end, RunEnd::kFailed);
  EXPECT_EQ(Lines("ran"), 3);
}

}  // namespace shard_export_test
}  // namespace reveza::jobs
