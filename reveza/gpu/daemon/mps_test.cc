#include "reveza/gpu/daemon/mps.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "common/platform/testing_clock.h"
#include "common/platform/testing_directory.h"
#include "common/platform/text_file.h"

namespace reveza::daemon {
namespace mps_test {

using nlohmann::json;
using std::chrono::seconds;

constexpr auto kLinger = seconds(60);

// Runs the script in testing_mps/ instead of NVIDIA's program.
class MpsTest : public testing::Test {
 protected:
  MpsTest() {
    path_ = std::getenv("PATH");
    setenv("PATH", (std::string(REVEZA_TEST_MPS_FOLDER) + ":" + path_).c_str(), 1);
    setenv("CUDA_VISIBLE_DEVICES", "3", 1);
    chmod(place_.path().c_str(), 0711);
    place_.Write("calls", "");
    chmod((place_ / "calls").c_str(), 0666);
    Open();
  }
  ~MpsTest() override {
    for (const pid_t pid : processes_) End(pid);
    clients_.clear();
    for (const char* name : {"hang-start", "hang-answer", "hang-quit"}) Switch(name, false);
    Await([&] { return !mps_->InUse(); });
    clock_.Advance(kLinger);
    Await([&] { return State() == "none"; });
    setenv("PATH", path_.c_str(), 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
  }

  void Open() {
    mps_.reset();
    mps_ = std::make_unique<MpsControls>(
        MpsControls::Options{.folder = place_.path(),
                             .linger = kLinger,
                             .has_clients = [this](JobId job) { return clients_.contains(job); }},
        clock_, MakeNullLogger());
  }
  void Switch(const std::string& name, bool on) {
    if (on) place_.Write(name, "");
    if (!on) std::filesystem::remove(place_ / name);
  }
  // Starts the first process of a job.
  pid_t StartProcess() {
    const pid_t pid = fork();
    if (pid == 0) {
      for (;;) pause();
    }
    processes_.insert(pid);
    return pid;
  }
  void End(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  // Ends a job's process.
  void EndJob(pid_t pid) {
    processes_.erase(pid);
    End(pid);
  }
  // Lets things happen until `done`; the clock stands still.
  template <typename Done>
  bool Await(Done done) {
    for (int i = 0; i < 1500; ++i) {
      mps_->Tick();
      if (done()) return true;
      pollfd changed{mps_->fd(), POLLIN, 0};
      poll(&changed, 1, 20);
    }
    return false;
  }
  // Requests MPS for a job. Returns the answer.
  json Ask(JobId job, pid_t pid, double weight = 1, std::optional<uid_t> uid = std::nullopt) {
    const uid_t user = uid.value_or(geteuid());
    auto answer = std::make_shared<json>();
    mps_->Request({.pid = pid, .user = {user, user}, .job = job, .weight = weight},
                  [answer](const json& given) { *answer = given; });
    Await([&] { return !answer->is_null(); });
    return *answer;
  }
  // The same; the answer does not come within the limit.
  json AskInVain(JobId job, pid_t pid) {
    auto answer = std::make_shared<json>();
    mps_->Request({.pid = pid, .user = {geteuid(), getegid()}, .job = job},
                  [answer](const json& given) { *answer = given; });
    clock_.Advance(seconds(5));
    Await([&] { return !answer->is_null(); });
    return *answer;
  }
  // The state of the only user, or "none".
  std::string State() {
    const json users = mps_->Json();
    return users.empty() ? "none" : users[0].at("state").get<std::string>();
  }
  pid_t DaemonPid() { return mps_->Json().at(0).at("pid").get<pid_t>(); }
  // The first words of the calls since the last time.
  std::vector<std::string> Calls() {
    std::istringstream text(*platform::ReadText(place_ / "calls"));
    place_.Write("calls", "");
    std::vector<std::string> calls;
    for (std::string line; std::getline(text, line);)
      calls.push_back(line.substr(0, line.find(' ')));
    return calls;
  }
  std::string Pipes() const { return place_ / ("mps-" + std::to_string(geteuid())); }

  platform::TestingDirectory place_;
  platform::FakeClock clock_;
  std::set<JobId> clients_;
  std::set<pid_t> processes_;
  std::string path_;
  std::unique_ptr<MpsControls> mps_;
};

using List = std::vector<std::string>;

TEST_F(MpsTest, OneControlDaemonServesAllJobsOfAUser) {
  EXPECT_EQ(Ask(1, StartProcess()), (json{{"folder", Pipes()}, {"percentage", nullptr}}));
  EXPECT_EQ(Ask(2, StartProcess()), (json{{"folder", Pipes()}, {"percentage", nullptr}}));
  EXPECT_EQ(Calls(), (List{"start", "get_server_list"}));
  EXPECT_TRUE(mps_->Uses(1));
  EXPECT_TRUE(mps_->Uses(2));
  EXPECT_FALSE(mps_->Uses(3));
  const json user = mps_->Json().at(0);
  EXPECT_EQ(user.at("state"), "running");
  EXPECT_EQ(user.at("jobs"), (json{"0000000000000001", "0000000000000002"}));
}

// Or its devices would be those of the first program.
TEST_F(MpsTest, ItsEnvironmentIsNotThatOfAProgram) {
  Ask(1, StartProcess());
  EXPECT_EQ(*platform::ReadText(place_ / "calls"),
            "start " + Pipes() + " " + Pipes() + "/log none\n");
}

TEST_F(MpsTest, EndsWhenNoJobHasUsedItForAWhile) {
  const pid_t process = StartProcess();
  Ask(1, process);
  clock_.Advance(2 * kLinger);
  mps_->Tick();
  EndJob(process);
  ASSERT_TRUE(Await([&] { return !mps_->InUse(); }));
  EXPECT_EQ(mps_->NextDeadline(), clock_.Now() + kLinger);
  clock_.Advance(kLinger - seconds(1));
  mps_->Tick();
  EXPECT_EQ(Calls(), List{"start"});
  clock_.Advance(seconds(1));
  EXPECT_TRUE(Await([&] { return State() == "none"; }));
  EXPECT_EQ(Calls(), List{"quit"});
}

TEST_F(MpsTest, AClientOfAJobOutlivesItsFirstProcess) {
  clients_ = {1};
  const pid_t process = StartProcess();
  Ask(1, process);
  EndJob(process);
  mps_->Tick();
  EXPECT_TRUE(mps_->InUse());
  clients_.clear();
  mps_->Tick();
  EXPECT_FALSE(mps_->InUse());
}

TEST_F(MpsTest, MissingProgramIsNamed) {
  setenv("PATH", "/nowhere", 1);
  const std::string error = Ask(1, StartProcess()).at("error");
  EXPECT_NE(error.find("no nvidia-cuda-mps-control in its PATH"), std::string::npos) << error;
}

TEST_F(MpsTest, RefusedStartSaysWhyAndIsTriedAgain) {
  Switch("refuse-start", true);
  EXPECT_EQ(Ask(1, StartProcess()).at("error"),
            "nvidia-cuda-mps-control said: An instance of this daemon is already running");
  Switch("refuse-start", false);
  EXPECT_EQ(Ask(2, StartProcess()).value("folder", ""), Pipes());
}

TEST_F(MpsTest, HangingStartEndsAtItsLimitAndIsTriedAgain) {
  Switch("hang-start", true);
  EXPECT_EQ(AskInVain(1, StartProcess()).at("error"),
            "the MPS control daemon does not answer within 5 s");
  EXPECT_FALSE(mps_->InUse());
  Switch("hang-start", false);
  EXPECT_EQ(Ask(2, StartProcess()).value("folder", ""), Pipes());
}

TEST_F(MpsTest, ControlDaemonThatEndsAtOnceIsReported) {
  Switch("die-at-once", true);
  std::string error;
  mps_->Request({.pid = StartProcess(), .user = {geteuid(), getegid()}, .job = 1},
                [&](const json& answer) { error = answer.value("error", ""); });
  // Until the command has ended; then its pid file is awaited.
  ASSERT_TRUE(Await([&] { return mps_->NextDeadline() < clock_.Now() + seconds(1); }));
  clock_.Advance(seconds(5));
  mps_->Tick();
  EXPECT_NE(error.find("ended at once; its log is in"), std::string::npos) << error;
}

TEST_F(MpsTest, DeadControlDaemonIsNotUsedUntilItsJobsHaveEnded) {
  const pid_t process = StartProcess();
  Ask(1, process);
  kill(DaemonPid(), SIGKILL);
  ASSERT_TRUE(Await([&] { return State() == "failed"; }));
  EXPECT_EQ(Ask(2, StartProcess()).at("error"),
            "the MPS control daemon has ended; jobs that used it must end first");
  EXPECT_EQ(Calls(), List{"start"});
  EndJob(process);
  EXPECT_EQ(Ask(3, StartProcess()).value("folder", ""), Pipes());
  EXPECT_EQ(Calls(), List{"start"});
}

TEST_F(MpsTest, HangingControlDaemonIsEndedAfterItsJobs) {
  const pid_t process = StartProcess();
  Ask(1, process);
  const pid_t daemon = DaemonPid();
  Switch("hang-answer", true);
  EXPECT_EQ(AskInVain(2, StartProcess()).at("error"),
            "the MPS control daemon does not answer within 5 s");
  EXPECT_EQ(State(), "failed");
  EXPECT_EQ(kill(daemon, 0), 0) << "a job uses it";
  Switch("hang-answer", false);
  EndJob(process);
  EXPECT_EQ(Ask(3, StartProcess()).value("folder", ""), Pipes());
  EXPECT_NE(DaemonPid(), daemon);
}

TEST_F(MpsTest, ControlDaemonThatDoesNotQuitIsKilled) {
  const pid_t process = StartProcess();
  Ask(1, process);
  Switch("hang-quit", true);
  EndJob(process);
  ASSERT_TRUE(Await([&] { return !mps_->InUse(); }));
  clock_.Advance(kLinger);
  ASSERT_TRUE(Await([&] { return State() == "stopping"; }));
  clock_.Advance(seconds(5));
  EXPECT_TRUE(Await([&] { return State() == "none"; }));
}

TEST_F(MpsTest, RequestWaitsForTheEndOfTheLastControlDaemon) {
  const pid_t process = StartProcess();
  Ask(1, process);
  EndJob(process);
  ASSERT_TRUE(Await([&] { return !mps_->InUse(); }));
  clock_.Advance(kLinger);
  mps_->Tick();
  ASSERT_EQ(State(), "stopping");
  EXPECT_EQ(Ask(2, StartProcess()).value("folder", ""), Pipes());
  EXPECT_EQ(Calls(), (List{"start", "quit", "start"}));
}

TEST_F(MpsTest, TheNextDaemonTakesOverWhatAKilledOneLeaves) {
  const pid_t ends = StartProcess();
  Ask(1, ends);
  Ask(2, StartProcess());
  const pid_t daemon = DaemonPid();
  mps_.reset();
  EndJob(ends);
  Open();
  EXPECT_EQ(State(), "running");
  EXPECT_EQ(DaemonPid(), daemon);
  EXPECT_FALSE(mps_->Uses(1));
  EXPECT_TRUE(mps_->Uses(2));
  Calls();
  EXPECT_EQ(Ask(3, StartProcess()).value("folder", ""), Pipes());
  EXPECT_EQ(Calls(), List{"get_server_list"}) << "no second one";
}

TEST_F(MpsTest, CleanEndEndsWhatNoJobUses) {
  const pid_t process = StartProcess();
  Ask(1, process);
  mps_->Shutdown();
  EXPECT_EQ(State(), "running");
  EndJob(process);
  mps_->Shutdown();
  EXPECT_EQ(State(), "none");
  EXPECT_EQ(Calls(), (List{"start", "quit"}));
}

// The number in a pid file that was left may be that of another process by now.
TEST_F(MpsTest, OtherProcessesAreNeitherTakenOverNorEnded) {
  const pid_t other = StartProcess();
  ASSERT_TRUE(PrepareMpsFolder(Pipes(), {geteuid(), getegid()}));
  place_.Write(std::filesystem::path(Pipes()) / "nvidia-cuda-mps-control.pid",
               std::to_string(other));
  Open();
  EXPECT_EQ(State(), "none");
  Switch("hang-start", true);
  EXPECT_TRUE(AskInVain(1, StartProcess()).contains("error"));
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
}

TEST_F(MpsTest, PipeDirectoryMustBeClosedToOthers) {
  ASSERT_EQ(mkdir(Pipes().c_str(), 0700), 0);
  ASSERT_EQ(chmod(Pipes().c_str(), 0777), 0);
  const std::string error = Ask(1, StartProcess()).at("error");
  EXPECT_NE(error.find("closed to others"), std::string::npos) << error;
  EXPECT_EQ(Calls(), List{});
}

TEST_F(MpsTest, ProcessInAnotherNamespaceIsRefused) { EXPECT_TRUE(Ask(1, 0).contains("error")); }

TEST_F(MpsTest, AUsersDaemonServesOnlyThatUser) {
  if (geteuid() == 0) GTEST_SKIP() << "root";
  const std::string error = Ask(1, StartProcess(), 1, geteuid() + 1).at("error");
  EXPECT_NE(error.find("cannot start MPS for user"), std::string::npos) << error;
}

TEST_F(MpsTest, RootStartsOneForEachUserAsThatUser) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  constexpr uid_t kUser = 54321;
  EXPECT_EQ(Ask(1, StartProcess()).value("folder", ""), Pipes());
  EXPECT_EQ(Ask(2, StartProcess(), 1, kUser).value("folder", ""), place_ / "mps-54321");
  const json user = mps_->Json().at(1);
  ASSERT_EQ(user.at("uid"), kUser);
  struct stat owner{};
  ASSERT_EQ(stat(("/proc/" + user.at("pid").dump()).c_str(), &owner), 0);
  EXPECT_EQ(owner.st_uid, kUser);
}

TEST_F(MpsTest, WeightsAreShares) {
  EXPECT_EQ(Ask(1, StartProcess(), 2).at("percentage"), 67);
  EXPECT_EQ(Ask(2, StartProcess(), 0.5).at("percentage"), 20);
  EXPECT_EQ(Ask(3, StartProcess()).at("percentage"), nullptr);
}

TEST(ThreadPercentage, IsTheShareBesideAtLeastOneOther) {
  EXPECT_EQ(ThreadPercentage(1, 5), std::nullopt);
  EXPECT_EQ(ThreadPercentage(2, 0), 67);
  EXPECT_EQ(ThreadPercentage(0.5, 0), 33);
  EXPECT_EQ(ThreadPercentage(2, 2), 50);
  EXPECT_EQ(ThreadPercentage(0.01, 100), 1);
  EXPECT_EQ(ThreadPercentage(100, 0), 99);
}

}  // namespace mps_test
}  // namespace reveza::daemon
