// Other users cannot access a daemon's socket, memory or commands. With a system-wide daemon, only
// members of its group can.
#include "tests/support/another_user.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/machine.h"

namespace reveza::testing {
namespace another_user_test {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kPermission = 5;  // as in docs/errors.md
constexpr User kOtherUser{65533, 65533};
constexpr User kMember{65532, 65534};
// Parts of the error message, by what denies access: the file mode or the daemon.
constexpr char kDeniedByMode[] = "permission on ";
constexpr char kDeniedByDaemon[] = "this daemon belongs to another user";

void Chmod(const fs::path& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0) << path; }

class AnotherUser : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string reason =
        SkipReason(kOtherUser, {REVEZA_PROGRAM, ClientPath("worker"), "/usr/bin/setpriv"});
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  // Starts a daemon that kMember may use. Returns false if its group has no name.
  bool StartDaemonOfGroup() {
    const group* members = getgrgid(kMember.gid);
    if (members == nullptr) return false;
    Machine::Options options;
    options.daemon_arguments = {"--group", members->gr_name};
    machine_.emplace(options);
    machine_->StartDaemon();
    Chmod(machine_->folder(), 0755);
    return true;
  }

  // Runs `reveza` with `arguments` as `user`.
  ProcessResult Reveza(User user, const std::vector<std::string>& arguments) {
    std::vector<std::string> command{REVEZA_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Process process(CommandAs(user, command), {{"REVEZA_SOCKET", machine_->socket()}},
                    machine_->folder() + "/reveza");
    return process.Wait().value_or(ProcessResult{});
  }

  // Expects one line that contains `reason` and a remedy.
  void ExpectRefused(User user, const char* reason, const std::vector<std::string>& arguments) {
    const ProcessResult ended = Reveza(user, arguments);
    EXPECT_EQ(ended.status, kPermission) << arguments[0] << ": " << ended.error_output;
    EXPECT_EQ(ended.output, "") << arguments[0];
    EXPECT_TRUE(ended.error_output.starts_with("reveza: "))
        << arguments[0] << ": " << ended.error_output;
    EXPECT_EQ(std::ranges::count(ended.error_output, '\n'), 1)
        << arguments[0] << ": " << ended.error_output;
    for (const char* part : {reason, "set REVEZA_SOCKET"}) {
      EXPECT_NE(ended.error_output.find(part), std::string::npos)
          << arguments[0] << ": " << ended.error_output;
    }
  }
  void ExpectAllRefused(User user, const char* reason) {
    ExpectRefused(user, reason, {"status"});
    ExpectRefused(user, reason, {"stop"});
    ExpectRefused(user, reason, {"stop", "--force"});
    ExpectRefused(user, reason, {"trace", "-"});
    // Without a library to preload, `run` exits before it connects.
    if (!Preload().empty()) ExpectRefused(user, reason, {"run", "--", "true"});
    EXPECT_TRUE(machine_->DaemonIsRunning());
  }

  // Starts a program as `user`, with its own simulated GPUs and the machine's socket.
  Process StartProgram(User user, const FakeCard& cards, const char* steps = "20") {
    EXPECT_EQ(chmod(cards.folder().c_str(), 0777), 0);
    Environment environment = cards.environment();
    environment.insert({"REVEZA_SOCKET", machine_->socket()});
    environment.insert({"REVEZA_JOB", "00000000000000aa"});
    environment.merge(Preload());
    return Process(CommandAs(user, {ClientPath("worker"), "--bytes", "8MiB", "--steps", steps,
                                    "--step-ms", "5", "--json"}),
                   environment, machine_->folder() + "/program");
  }

  std::optional<Machine> machine_;
};

TEST_F(AnotherUser, CannotUseCommands) {
  machine_.emplace();
  machine_->StartDaemon();
  ExpectAllRefused(kOtherUser, kDeniedByMode);
  // The directory is accessible; the socket's mode still denies access.
  Chmod(machine_->folder(), 0755);
  ExpectAllRefused(kOtherUser, kDeniedByMode);
  // The socket is accessible too; the daemon checks peer credentials.
  Chmod(machine_->socket(), 0666);
  ExpectAllRefused(kOtherUser, kDeniedByDaemon);
  EXPECT_EQ(Reveza({0, 0}, {"status"}).status, 0);
}

TEST_F(AnotherUser, RunsWithoutDaemon) {
  machine_.emplace();
  machine_->StartDaemon();
  Chmod(machine_->folder(), 0755);
  Chmod(machine_->socket(), 0666);
  const FakeCard cards;
  const auto ended = StartProgram(kOtherUser, cards).Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0) << ended->error_output;
  EXPECT_EQ(ended->Field("hash").size(), 16u) << ended->output;
  EXPECT_NE(ended->error_output.find("belongs to another user"), std::string::npos)
      << ended->error_output;
  EXPECT_EQ(std::ranges::count(ended->error_output, '\n'), 1) << ended->error_output;
  EXPECT_TRUE(machine_->Status()["clients"].empty());
}

TEST_F(AnotherUser, CannotOpenMemoryOrLockFiles) {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  machine_.emplace(options);
  machine_->StartDaemon();
  // Two programs that take turns: memory on the GPU, on the host and in transfer.
  const std::vector<std::string> arguments{"--bytes", "180MiB",    "--seconds",
                                           "60",      "--step-ms", "5"};
  const Process first = machine_->Start("worker", arguments);
  const Process second = machine_->Start("worker", arguments);
  ASSERT_TRUE(machine_->WaitFor([](const json& status) {
    return !status["gpus"].empty() && status["gpus"][0]["handover"]["count"] >= 2;
  }));
  const auto opens = [](const fs::path& path) {
    return HoldsAs(kOtherUser, [&] {
      return open(path.c_str(), O_RDONLY | O_CLOEXEC) >= 0 ||
             open(path.c_str(), O_WRONLY | O_CLOEXEC) >= 0;
    });
  };
  for (const Process* process : {&first, &second}) {
    const std::string folder = "/proc/" + std::to_string(process->pid());
    for (const char* file : {"/mem", "/maps", "/environ"}) EXPECT_FALSE(opens(folder + file));
  }
  // All directories are accessible; the modes of the files still deny access.
  Chmod(machine_->folder(), 0777);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(machine_->folder())) {
    if (entry.is_directory()) {
      Chmod(entry.path(), 0777);
    } else {
      files.push_back(entry.path());
    }
  }
  const auto exists = [&](const std::string& suffix) {
    return std::ranges::any_of(
        files, [&](const fs::path& path) { return path.filename().string().ends_with(suffix); });
  };
  EXPECT_TRUE(exists("cards") && exists(".lock")) << "the files under test are missing";
  for (const fs::path& path : files) EXPECT_FALSE(opens(path)) << path;
}

TEST_F(AnotherUser, GroupMemberSharesGpuAndReadsStatus) {
  if (!StartDaemonOfGroup()) GTEST_SKIP() << "group 65534 has no name here";
  struct stat socket{};
  ASSERT_EQ(stat(machine_->socket().c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0660u);
  EXPECT_EQ(socket.st_gid, kMember.gid);

  const FakeCard cards;
  Process process = StartProgram(kMember, cards);
  EXPECT_TRUE(machine_->WaitFor(
      [&](const json& status) { return !ClientOf(status, process.pid()).is_null(); }));
  EXPECT_EQ(Reveza(kMember, {"status"}).status, 0);
  EXPECT_EQ(Reveza(kMember, {"trace", "-"}).status, 0);
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0) << ended->error_output;
  EXPECT_EQ(ended->error_output, "");

  const ProcessResult stop = Reveza(kMember, {"stop", "--force"});
  EXPECT_EQ(stop.status, kPermission);
  EXPECT_TRUE(machine_->DaemonIsRunning());

  ExpectAllRefused(kOtherUser, kDeniedByMode);
  Chmod(machine_->socket(), 0666);
  ExpectAllRefused(kOtherUser, kDeniedByDaemon);
}

TEST_F(AnotherUser, GroupMemberChangesOnlyItsOwnPrograms) {
  if (!StartDaemonOfGroup()) GTEST_SKIP() << "group 65534 has no name here";
  const FakeCard cards;
  const Process theirs = StartProgram(kMember, cards, "100000");
  const Process ours =
      machine_->Start("worker", {"--bytes", "8MiB", "--steps", "100000", "--step-ms", "5"});
  const auto weight_of = [&](const Process& process) {
    const json client = ClientOf(machine_->Status(), process.pid());
    return client.is_null() ? 0 : client.at("policy").at("weight").get<double>();
  };
  ASSERT_TRUE(machine_->WaitFor([&](const json& status) {
    return !ClientOf(status, theirs.pid()).is_null() && !ClientOf(status, ours.pid()).is_null();
  }));
  const std::string their_pid = std::to_string(theirs.pid());
  const std::string our_pid = std::to_string(ours.pid());
  EXPECT_EQ(Reveza(kMember, {"set", their_pid, "--weight", "2"}).status, 0);
  EXPECT_EQ(weight_of(theirs), 2);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"set", our_pid, "--weight", "3"}, {"pause", our_pid}}) {
    const ProcessResult refused = Reveza(kMember, arguments);
    EXPECT_EQ(refused.status, kPermission) << refused.error_output;
    EXPECT_NE(refused.error_output.find("belongs to another user"), std::string::npos)
        << refused.error_output;
  }
  EXPECT_EQ(weight_of(ours), 1);
  EXPECT_EQ(Reveza({0, 0}, {"set", their_pid, "--weight", "4"}).status, 0);
  EXPECT_EQ(weight_of(theirs), 4);
}

}  // namespace another_user_test
}  // namespace reveza::testing
