// End-to-end tests of `reveza top` with a fake runner, in a pipe and in a terminal.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "common/platform/testing_terminal.h"
#include "common/platform/unix_socket.h"
#include "reveza/insight/monitor/testing_runner.h"

namespace reveza::cli {
namespace top_test {

using nlohmann::json;
using platform::Ran;
using platform::Shell;

// A runtime folder with the socket of a job.
class Top : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "reveza" / "jobs");
    socket_ = folder_ / "reveza" / "jobs" / "sweep.sock";
  }
  monitor::TestingRunner::Answer Answer() {
    return [this](const std::string& request) -> std::string {
      const auto asked = json::parse(request).value("request", "");
      if (asked == "pause") paused_ = true;
      if (asked != "status") return "{\"ok\":true}\n";
      return fmt::format(R"({{"version":1,"id":"sweep-1","name":"sweep","pid":{0},"state":"{1}",)"
                         R"("steps":{{"all":5,"done":2,"running":1}},)"
                         R"("running":[{{"step":3,"label":"seed=3","pid":{0},"state":"running",)"
                         R"("claim":1073741824}}]}})",
                         getpid(), paused_ ? "paused" : "running") +
             "\n";
    };
  }
  std::string Command(const std::string& arguments) const {
    return fmt::format(
        "env REVEZA_SOCKET={0}/none.sock XDG_RUNTIME_DIR={0} XDG_CONFIG_HOME={0} LC_ALL=C.UTF-8 "
        "TERM=xterm {1} top {2}",
        folder_.path().string(), REVEZA_PROGRAM, arguments);
  }
  Ran Reveza(const std::string& arguments) const { return Shell(Command(arguments)); }

  platform::TestingDirectory folder_;
  std::filesystem::path socket_;
  std::atomic<bool> paused_ = false;
};

TEST_F(Top, ShowsTheMachineWithoutADaemonOrJobs) {
  const Ran ran = Reveza("--once");
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.output.find("no daemon, 0 jobs"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("no programs or jobs"), std::string::npos) << ran.output;
  EXPECT_EQ(Reveza("").status, 0) << "in a pipe it prints one screen";
}

TEST_F(Top, ShowsAJobWithTheUsageOfItsSteps) {
  const monitor::TestingRunner runner(socket_, Answer());
  const Ran ran = Reveza("--once --width 80");
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.output.find("no daemon, 1 job"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("2 of 5 done, 1 running"), std::string::npos) << ran.output;
  const Ran as_json = Reveza("--json");
  const json snapshot = json::parse(as_json.output, nullptr, false);
  ASSERT_TRUE(snapshot.is_object()) << as_json.output;
  const json step = snapshot.at("jobs").at(0).at("running").at(0);
  EXPECT_EQ(step.at("pid"), getpid());
  EXPECT_TRUE(step.at("use").at("cpu").is_number());
  EXPECT_GT(step.at("use").at("proportional").get<double>(), 0);
  EXPECT_TRUE(step.at("gpu_memory").is_null());
}

TEST_F(Top, ReportsAnUnresponsiveDaemonAndShowsTheRest) {
  const auto silent = platform::ListenAt(folder_ / "none.sock", std::nullopt);
  ASSERT_TRUE(silent) << silent.error().message;
  const monitor::TestingRunner runner(socket_, Answer());
  const Ran ran = Reveza("--once");
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.output.find("does not answer"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("2 of 5 done"), std::string::npos) << ran.output;
}

TEST_F(Top, AsksDaemonsAtSeveralSockets) {
  const auto first = platform::ListenAt(folder_ / "none.sock", std::nullopt);
  const auto second = platform::ListenAt(folder_ / "other.sock", std::nullopt);
  ASSERT_TRUE(first && second);
  const std::string sockets = "--socket " + (folder_ / "none.sock").string() + " --socket " +
                              (folder_ / "other.sock").string();
  const Ran ran = Reveza("--json " + sockets);
  EXPECT_EQ(ran.status, 0) << ran.output;
  const json snapshot = json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(snapshot.is_object()) << ran.output;
  EXPECT_EQ(snapshot.at("notes").size(), 2u) << "neither answers: " << ran.output;
  EXPECT_EQ(snapshot.at("daemons"), json::array());
}

TEST_F(Top, LoopPrintsJsonLinesOrCsvRows) {
  const monitor::TestingRunner runner(socket_, Answer());
  const Ran lines = Reveza("--loop --count 2 --interval 0.1");
  EXPECT_EQ(lines.status, 0);
  EXPECT_EQ(std::ranges::count(lines.output, '\n'), 2);
  EXPECT_TRUE(
      json::parse(lines.output.substr(0, lines.output.find('\n')), nullptr, false).is_object());
  const Ran rows = Reveza("--csv --loop --count 2 --interval 0.1");
  EXPECT_EQ(std::ranges::count(rows.output, '\n'), 1 + 2 * 2) << rows.output;
}

TEST_F(Top, RejectsInvalidOptions) {
  EXPECT_EQ(Reveza("--onse"),
            (Ran{2,
                 "reveza: unknown option '--onse'; did you mean '--once'?; see reveza top "
                 "--help\n"}));
  EXPECT_EQ(Reveza("--json --csv").status, 2);
  EXPECT_EQ(Reveza("--sort colour").status, 2);
  EXPECT_EQ(Reveza("--interval 0").status, 2);
  EXPECT_EQ(Reveza("--help").status, 0);
}

TEST_F(Top, PausesAJobFromTheLiveScreen) {
  const monitor::TestingRunner runner(socket_, Answer());
  platform::TestingTerminal terminal(Command("--interval 0.2"));
  ASSERT_TRUE(terminal.WaitFor("sweep")) << terminal.written();
  EXPECT_FALSE(paused_);
  terminal.Type("p");
  ASSERT_TRUE(terminal.WaitFor("pause: done")) << terminal.written();
  EXPECT_TRUE(paused_);
  terminal.Type("?");
  ASSERT_TRUE(terminal.WaitFor("toggle this help")) << terminal.written();
  terminal.Type("q");
  EXPECT_EQ(terminal.WaitForEnd(), 0);
}

TEST_F(Top, ReportsAnUnknownTerminal) {
  std::string command = Command("");
  command.replace(command.find("TERM=xterm"), 10, "TERM=there-is-none");
  platform::TestingTerminal terminal(command);
  EXPECT_EQ(terminal.WaitForEnd(), 1);
  EXPECT_NE(terminal.written().find("reveza top --once"), std::string::npos) << terminal.written();
}

}  // namespace top_test
}  // namespace reveza::cli
