// Somebody else on the machine reaches neither socket nor memory nor commands; with a system-wide
// daemon the members of its group do, and nobody else.
#include "another_user.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "machine.h"

namespace reveza::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kPermission = 5;  // as in docs/errors.md
constexpr User kStranger{65533, 65533};
constexpr char kByMode[] = "no permission on";
constexpr char kByDaemon[] = "refused: this daemon belongs to another user";

void Widen(const fs::path& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0) << path; }

class AnotherUser : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not =
        WhyNot(kStranger, {REVEZA_PROGRAM, ClientPath("worker"), "/usr/bin/setpriv"});
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }

  // `reveza` with these words, as `user`.
  Ended Reveza(User user, const std::vector<std::string>& words) {
    std::vector<std::string> command{REVEZA_PROGRAM};
    command.insert(command.end(), words.begin(), words.end());
    Process process(CommandAs(user, command), {{"REVEZA_SOCKET", machine_->socket()}},
                    machine_->folder() + "/reveza");
    return process.Wait().value_or(Ended{});
  }

  // One line that says what is wrong (`by`) and what to do, and its exit status.
  void ExpectRefused(User user, const char* by, const std::vector<std::string>& words) {
    const Ended ended = Reveza(user, words);
    EXPECT_EQ(ended.status, kPermission) << words[0] << ": " << ended.complaint;
    EXPECT_EQ(ended.output, "") << words[0];
    EXPECT_TRUE(ended.complaint.starts_with("reveza: ")) << words[0] << ": " << ended.complaint;
    EXPECT_EQ(std::ranges::count(ended.complaint, '\n'), 1) << words[0] << ": " << ended.complaint;
    for (const char* part : {by, "set REVEZA_SOCKET"}) {
      EXPECT_NE(ended.complaint.find(part), std::string::npos)
          << words[0] << ": " << ended.complaint;
    }
  }
  void ExpectAllRefused(User user, const char* by) {
    ExpectRefused(user, by, {"status"});
    ExpectRefused(user, by, {"stop"});
    ExpectRefused(user, by, {"stop", "--force"});
    ExpectRefused(user, by, {"trace", "-"});
    // Where there is no library to preload, `run` ends before it asks.
    if (!Preload().empty()) ExpectRefused(user, by, {"run", "--", "true"});
    EXPECT_TRUE(machine_->DaemonRuns());
  }

  // A program of `user`, with cards of its own, that has the machine's socket.
  Process StartProgram(User user, const FakeCard& cards) {
    EXPECT_EQ(chmod(cards.folder().c_str(), 0777), 0);
    Environment environment = cards.environment();
    environment.insert({"REVEZA_SOCKET", machine_->socket()});
    environment.insert({"REVEZA_JOB", "00000000000000aa"});
    environment.merge(Preload());
    return Process(CommandAs(user, {ClientPath("worker"), "--bytes", "8MiB", "--steps", "20",
                                    "--step-ms", "5", "--json"}),
                   environment, machine_->folder() + "/program");
  }

  std::optional<Machine> machine_;
};

TEST_F(AnotherUser, HasNoCommands) {
  machine_.emplace();
  machine_->StartDaemon();
  ExpectAllRefused(kStranger, kByMode);
  // The folder open: the socket's own mode holds.
  Widen(machine_->folder(), 0755);
  ExpectAllRefused(kStranger, kByMode);
  // The socket open, too: the daemon looks at who is there.
  Widen(machine_->socket(), 0666);
  ExpectAllRefused(kStranger, kByDaemon);
  EXPECT_EQ(Reveza({0, 0}, {"status"}).status, 0);
}

TEST_F(AnotherUser, HasNoTurns) {
  machine_.emplace();
  machine_->StartDaemon();
  Widen(machine_->folder(), 0755);
  Widen(machine_->socket(), 0666);
  const FakeCard cards;
  const auto ended = StartProgram(kStranger, cards).Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0) << ended->complaint;
  EXPECT_EQ(ended->Field("hash").size(), 16u) << ended->output;
  EXPECT_NE(ended->complaint.find("belongs to another user"), std::string::npos)
      << ended->complaint;
  EXPECT_EQ(std::ranges::count(ended->complaint, '\n'), 1) << ended->complaint;
  EXPECT_TRUE(machine_->Status()["clients"].empty());
}

TEST_F(AnotherUser, ReadsNoMemoryAndHoldsNoLocks) {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  machine_.emplace(options);
  machine_->StartDaemon();
  // Two that take turns: memory on the card, in the host, and on its way between them.
  const std::vector<std::string> words{"--bytes", "180MiB", "--seconds", "60", "--step-ms", "5"};
  const Process one = machine_->Start("worker", words);
  const Process two = machine_->Start("worker", words);
  ASSERT_TRUE(machine_->WaitFor([](const json& status) {
    return !status["gpus"].empty() && status["gpus"][0]["handover"]["count"] >= 2;
  }));
  const auto opens = [](const fs::path& path) {
    return HoldsFor(kStranger, [&] {
      return open(path.c_str(), O_RDONLY | O_CLOEXEC) >= 0 ||
             open(path.c_str(), O_WRONLY | O_CLOEXEC) >= 0;
    });
  };
  for (const Process* process : {&one, &two}) {
    const std::string folder = "/proc/" + std::to_string(process->pid());
    for (const char* file : {"/mem", "/maps", "/environ"}) EXPECT_FALSE(opens(folder + file));
  }
  // Every folder open by hand: the files' own modes hold.
  Widen(machine_->folder(), 0777);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(machine_->folder())) {
    if (entry.is_directory()) {
      Widen(entry.path(), 0777);
    } else {
      files.push_back(entry.path());
    }
  }
  const auto named = [&](const std::string& end) {
    return std::ranges::any_of(
        files, [&](const fs::path& path) { return path.filename().string().ends_with(end); });
  };
  EXPECT_TRUE(named("cards") && named(".lock")) << "what this is about is there";
  for (const fs::path& path : files) EXPECT_FALSE(opens(path)) << path;
}

TEST_F(AnotherUser, OfTheGroupTakesTurnsAndMayLook) {
  const group* members = getgrgid(65534);
  if (members == nullptr) GTEST_SKIP() << "group 65534 has no name here";
  const User member{65532, 65534};
  Machine::Options options;
  options.daemon_arguments = {"--group", members->gr_name};
  machine_.emplace(options);
  machine_->StartDaemon();
  Widen(machine_->folder(), 0755);
  struct stat socket{};
  ASSERT_EQ(stat(machine_->socket().c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0660u);
  EXPECT_EQ(socket.st_gid, member.gid);

  const FakeCard cards;
  Process process = StartProgram(member, cards);
  EXPECT_TRUE(machine_->WaitFor(
      [&](const json& status) { return !ClientOf(status, process.pid()).is_null(); }));
  EXPECT_EQ(Reveza(member, {"status"}).status, 0);
  EXPECT_EQ(Reveza(member, {"trace", "-"}).status, 0);
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0) << ended->complaint;
  EXPECT_EQ(ended->complaint, "");

  const Ended stop = Reveza(member, {"stop", "--force"});
  EXPECT_EQ(stop.status, kPermission);
  EXPECT_NE(stop.complaint.find("only its own user and root may stop"), std::string::npos);
  EXPECT_TRUE(machine_->DaemonRuns());

  ExpectAllRefused(kStranger, kByMode);
  Widen(machine_->socket(), 0666);
  ExpectAllRefused(kStranger, kByDaemon);
}

}  // namespace
}  // namespace reveza::testing
