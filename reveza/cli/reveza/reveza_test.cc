// End-to-end tests of `reveza`: each error has one line and a status.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "common/platform/unix_socket.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::cli {
namespace reveza_test {

using platform::Ran;

class RevezaTest : public testing::Test {
 protected:
  // Runs in a shell with a clean environment.
  Ran Shell(const std::string& line) const {
    return platform::Shell("env -i PATH=/usr/bin:/bin HOME=" + place_.path().string() +
                           " XDG_RUNTIME_DIR=" + place_.path().string() + " " + extra_ +
                           " sh -c '" + line + "'");
  }
  Ran Reveza(const std::string& arguments) const { return Shell(REVEZA_PROGRAM " " + arguments); }
  void ExpectError(const std::string& arguments, ExitStatus status, const std::string& part) const {
    const Ran ran = Reveza(arguments);
    EXPECT_EQ(ran.status, status) << arguments << ": " << ran.output;
    EXPECT_TRUE(ran.output.starts_with("reveza: ")) << ran.output;
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << "one line: " << ran.output;
  }
  void TearDown() override { Reveza("stop --force"); }

  platform::TestingDirectory place_;
  std::string extra_;
};

TEST_F(RevezaTest, SuggestsTheNearestWord) {
  ExpectError("staus", kUsage, "did you mean 'status'?");
  ExpectError("status --jsn", kUsage, "did you mean '--json'?");
  ExpectError("run --gpu-buget 1GiB -- true", kUsage, "did you mean '--gpu-budget'?");
  ExpectError("elephant", kUsage, "unknown command 'elephant'");
  ExpectError("", kUsage, "--help");
  ExpectError("run", kUsage, "-- COMMAND");
  ExpectError("config", kUsage, "--help");
}

TEST_F(RevezaTest, EveryCommandHasHelp) {
  for (const char* command : {"", "run", "status", "trace", "stop", "config", "config show", "demo",
                              "version", "simulate", "usage"}) {
    const Ran ran = Reveza(std::string(command) + " --help");
    EXPECT_EQ(ran.status, kDone) << command;
    EXPECT_NE(ran.output.find("Usage: "), std::string::npos) << ran.output;
  }
}

TEST_F(RevezaTest, SizesRequireAUnit) {
  ExpectError("run --gpu-budget 24 -- true", kUsage, "write a size such as 24GiB");
}

TEST_F(RevezaTest, ReportsCommandsThatCannotRun) {
  ExpectError("run -- no-such-command-anywhere", kNoCommand, "no-such-command-anywhere");
  ExpectError("run -- /no/such/file", kNoCommand, "/no/such/file");
  place_.Write("plain.txt", "text");
  ExpectError("run -- " + (place_ / "plain.txt").string(), kCannotExecute, "chmod +x");
}

TEST_F(RevezaTest, ReportsAMissingDaemon) {
  ExpectError("status", kNoDaemon, "`reveza run` starts one");
  ExpectError("stop", kNoDaemon, "no daemon answers");
  ExpectError("trace", kNoDaemon, "no daemon answers");
}

TEST_F(RevezaTest, CallsAreTracedOfACommand) {
  const std::string file = (place_ / "calls").string();
  ExpectError("trace --calls", kUsage, "--calls");
  ExpectError("trace --calls " + file, kUsage, "-- COMMAND");
  ExpectError("trace --calls " + file + " -- no-such-command", kNoCommand, "no-such-command");
  ExpectError("trace --calls /no/such/folder/calls -- true", kOutput, "cannot write");
  ExpectError("trace --calls " + place_.path().string() + " -- true", kOutput, "regular file");
  EXPECT_FALSE(std::filesystem::exists(file));
  if (!std::filesystem::exists(REVEZA_LIBRARY)) return;  // in sanitized builds
  extra_ = "LD_PRELOAD=" REVEZA_LIBRARY;
  ExpectError("trace --calls " + file + " -- true", kUsage, "outside of `reveza run`");
}

TEST_F(RevezaTest, SimulatesWorldsAndTraces) {
  const std::string world = place_ / "world.toml";
  std::ofstream(world) << "gpu_budget = \"24GiB\"\n"
                          "[[job]]\nname = \"a\"\nmemory = \"14GiB\"\nwork = \"1min\"\n"
                          "[[job]]\nname = \"b\"\nmemory = \"14GiB\"\nwork = \"1min\"\n";
  const Ran text = Reveza("simulate " + world);
  EXPECT_EQ(text.status, kDone);
  EXPECT_NE(text.output.find("a |#"), std::string::npos) << text.output;
  const std::string trace = place_ / "trace.json";
  const auto makespan = [&](const std::string& arguments) {
    const Ran ran = Reveza("simulate --json " + arguments);
    EXPECT_EQ(ran.status, kDone) << ran.output;
    return nlohmann::json::parse(ran.output).at("makespan_s").get<double>();
  };
  EXPECT_GT(makespan(world + " --trace " + trace), 120);
  EXPECT_LT(makespan(world + " --set gpu_budget=40GiB"), 121);
  EXPECT_LT(makespan(world + " --set gpu_budget=40GiB --set kernels=independent"), 65);
  EXPECT_LT(makespan(world + " --until 30s"), 31);
  EXPECT_TRUE(std::filesystem::exists(trace));
  // Its own trace tells nothing of memory.
  ExpectError("simulate " + trace, kUsage, "no job in");
  ExpectError("simulate " + world + " --set a.weight=0", kUsage, "from 0.01 to 100");
  ExpectError("simulate " + world + " --set gpu_budget=8GiB", kUsage, "a needs 14.5 GiB");
  ExpectError("simulate " + world + " --until later", kUsage, "--until");
  ExpectError("simulate " + world + " --trace /none/trace.json", kOutput, "/none/trace.json");
  ExpectError("simulate " + (place_ / "none.toml").string(), kUsage, "none.toml");
}

TEST_F(RevezaTest, UsageErrorsSayWhatWouldBeRight) {
  ExpectError("usage", kNoUsage, "usage.db");
  ExpectError("usage --since soon", kUsage, "yesterday");
  ExpectError("usage --by week", kUsage, "--by");
  ExpectError("usage --json --csv", kUsage, "--");
  extra_ = "REVEZA_USAGE_FILE=off";
  ExpectError("usage", kUsage, "usage_file is off");
  extra_ = "REVEZA_USAGE_FILE=usage.db";
  ExpectError("usage", kConfiguration, "absolute path");
}

TEST_F(RevezaTest, ConfigurationErrorsNameTheLine) {
  place_.Write(".config/reveza/config.toml", "linger = \"9s\"\ngpu_buget = \"24GiB\"\n");
  ExpectError("config show", kConfiguration, "config.toml:2: unknown key");
  ExpectError("status", kConfiguration, "did you mean 'gpu_budget'?");
  place_.Write(".config/reveza/config.toml", "linger = \"9s\"\n");
  const Ran shown = Reveza("config show");
  EXPECT_EQ(shown.status, kDone);
  EXPECT_NE(shown.output.find("config.toml:1"), std::string::npos) << shown.output;
  EXPECT_NE(Reveza("config path").output.find("config.toml"), std::string::npos);
  extra_ = "REVEZA_LINGER=soon";
  ExpectError("config show", kConfiguration, "REVEZA_LINGER");
  extra_ = "REVEZA_CONFIG=/no/such/file";
  ExpectError("config show", kConfiguration, "/no/such/file");
}

TEST_F(RevezaTest, PrintsTheVersion) {
  EXPECT_NE(Reveza("version").output.find("protocol"), std::string::npos);
  const Ran version = Reveza("--version");
  EXPECT_EQ(version.status, kDone);
  EXPECT_NE(version.output.find("\ncommit "), std::string::npos) << version.output;
  EXPECT_NE(version.output.find("\nbuild: preset "), std::string::npos) << version.output;
}

TEST_F(RevezaTest, FailsIfStandardOutputCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  for (const std::string command :
       {"version", "--version", "--help", "config show", "jobs list", "jobs list --json"}) {
    ExpectError(command + " > /dev/full", kOutput, "standard output");
  }
}

TEST_F(RevezaTest, ReportsAMissingPermissionOnTheSocket) {
  if (getuid() != 0) GTEST_SKIP() << "requires root";
  std::filesystem::create_directory(place_ / "reveza");
  const auto listener = platform::ListenAt(place_ / "reveza/revezad.sock", std::nullopt);
  ASSERT_TRUE(listener);
  for (const auto& folder : {place_.path(), place_ / "reveza"}) {
    ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  }
  const Ran ran =
      Shell("setpriv --reuid 65534 --regid 65534 --clear-groups " REVEZA_PROGRAM " status");
  if (ran.output.find("setpriv") != std::string::npos ||
      ran.output.find("not found") != std::string::npos || ran.status == 126) {
    GTEST_SKIP() << "this user cannot reach the build: " << ran.output;
  }
  EXPECT_EQ(ran.status, kPermission) << ran.output;
  EXPECT_NE(ran.output.find("no permission on"), std::string::npos);
}

TEST_F(RevezaTest, ReportsADaemonOfAnotherVersion) {
  std::filesystem::create_directory(place_ / "reveza");
  const auto listener = platform::ListenAt(place_ / "reveza/revezad.sock", std::nullopt);
  ASSERT_TRUE(listener);
  std::thread old_daemon([&] {
    pollfd readable{listener->get(), POLLIN, 0};
    poll(&readable, 1, 60'000);
    const UniqueFd peer(accept(listener->get(), nullptr, nullptr));
    char packet[wire::kMaxPacket];
    [[maybe_unused]] auto got = recv(peer.get(), packet, sizeof(packet), 0);
    wire::Encode(wire::Refused{}, packet);
    packet[4] = wire::kVersion + 1;
    got = send(peer.get(), packet, wire::kPacketSize<wire::Refused>, MSG_NOSIGNAL);
  });
  ExpectError("status", kVersion,
              fmt::format("version {} of the protocol, this program version {}", wire::kVersion + 1,
                          wire::kVersion));
  old_daemon.join();
}

// Serves one connection as a daemon that knows no jobs yet: refuses our version, and answers its
// own.
constexpr std::uint16_t kOlder = wire::JobRequest::kSince - 1;

void ServeAsOlderVersion(int listener) {
  pollfd readable{listener, POLLIN, 0};
  poll(&readable, 1, 60'000);
  const UniqueFd peer(accept(listener, nullptr, nullptr));
  char packet[wire::kMaxPacket];
  if (recv(peer.get(), packet, sizeof(packet), 0) <= 0) return;
  std::string answer;
  if (wire::VersionOf(packet) != kOlder) {
    wire::Refused refused{};
    refused.version = kOlder;
    answer.resize(wire::kPacketSize<wire::Refused>);
    wire::Encode(refused, answer.data(), kOlder);
  } else {
    const std::string text = "{\"clients\": [], \"version\": \"older\"}";
    answer.resize(wire::kPacketSize<wire::TextHeader>);
    wire::Encode(wire::TextHeader{1, static_cast<std::uint32_t>(text.size())}, answer.data(),
                 kOlder);
    answer += text;
  }
  send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  while (recv(peer.get(), packet, sizeof(packet), 0) > 0) {
  }
}

TEST_F(RevezaTest, SpeaksToADaemonOfAnOlderVersion) {
  std::filesystem::create_directory(place_ / "reveza");
  const auto listener = platform::ListenAt(place_ / "reveza/revezad.sock", std::nullopt);
  ASSERT_TRUE(listener);
  std::thread daemon([&] {
    for (int connection = 0; connection < 3; ++connection) ServeAsOlderVersion(listener->get());
  });
  const Ran status = Reveza("status --json");
  EXPECT_EQ(nlohmann::json::parse(status.output, nullptr, false).value("version", ""), "older")
      << status.output;
  // What it does not know is said.
  ExpectError("pause a", kVersion, fmt::format("speaks version {}", kOlder));
  daemon.join();
}

TEST_F(RevezaTest, PoliciesAreValidated) {
  ExpectError("set a", kUsage, "nothing to change");
  ExpectError("set a --weight 0", kUsage, "--weight: '0' is not a number from 0.01 to 100");
  ExpectError("set a --weight heavy", kUsage, "--weight: 'heavy'");
  ExpectError("set a --priority hihg", kUsage, "did you mean 'high'?");
  ExpectError("set a --memory 4", kUsage, "--memory: ");
  ExpectError("set a --memory 4GiB:2GiB", kUsage,
              "the request of 4 GiB exceeds the limit of 2 GiB");
  ExpectError("set a --weight 2", kNoDaemon, "reveza run");
}

TEST_F(RevezaTest, RunForwardsStatusSignalsAndEnvironment) {
  if (!std::filesystem::exists(REVEZA_LIBRARY)) GTEST_SKIP() << "libreveza.so is not built";
  EXPECT_EQ(Reveza("run -- sh -c \"exit 42\"").status, 42);
  EXPECT_EQ(Reveza("run sh -c \"exit 43\"").status, 43) << "-- is optional";
  EXPECT_EQ(Reveza("run -- sh -c \"kill -TERM \\$\\$\"").status, 128 + SIGTERM);
  const Ran ran = Reveza(
      "run --name x --resident --quiet --weight 2.5 --priority high --memory 1GiB:2GiB "
      "--interactive -- env");
  EXPECT_NE(ran.output.find("REVEZA_POLICY=weight=250,priority=2,interactive=1,request=1073741824,"
                            "limit=2147483648"),
            std::string::npos)
      << ran.output;
  for (const char* part : {"REVEZA_NAME=x", "REVEZA_RESIDENT=1", "REVEZA_QUIET=1",
                           "REVEZA_JOB=", "revezad.sock", "libreveza.so"}) {
    EXPECT_NE(ran.output.find(part), std::string::npos) << part << "\n" << ran.output;
  }
  EXPECT_EQ(ran.output.find("REVEZA_GPU_BUDGET"), std::string::npos);
  EXPECT_EQ(ran.output.find("REVEZA_LARGER_THAN_CARD"), std::string::npos);
  EXPECT_NE(Reveza("run --larger-than-card -- env").output.find("REVEZA_LARGER_THAN_CARD=1"),
            std::string::npos);
  ExpectError("run --larger-than-card --resident -- env", kUsage,
              "--resident excludes --larger-than-card");
  extra_ = "REVEZA_POLICY=weight=300";
  EXPECT_EQ(Reveza("run -- env").output.find("REVEZA_POLICY"), std::string::npos);
  EXPECT_NE(Reveza("run --same-job -- env").output.find("REVEZA_POLICY"), std::string::npos);
  extra_ = "REVEZA_JOB=00000000000000aa";
  EXPECT_EQ(Reveza("run -- env").output.find("REVEZA_JOB=00000000000000aa"), std::string::npos)
      << "a run inside another one is a job of its own";
  EXPECT_NE(Reveza("run --same-job -- env").output.find("REVEZA_JOB=00000000000000aa"),
            std::string::npos);
  extra_ = "REVEZA_DISABLE=1";
  EXPECT_EQ(Reveza("run -- env").output.find("LD_PRELOAD"), std::string::npos);
  extra_.clear();
  const Ran status = Reveza("status --json");
  EXPECT_TRUE(nlohmann::json::parse(status.output, nullptr, false).is_object()) << status.output;
  const Ran trace = Reveza("trace " + (place_ / "t.json").string());
  EXPECT_EQ(trace.status, kDone) << trace.output;
  EXPECT_TRUE(std::filesystem::exists(place_ / "t.json"));
  ExpectError("trace /no/such/folder/t.json", kOutput, "cannot write");
  ExpectError("run --gpu-budget 1GiB -- true", kOtherBudget, "reveza stop");
  const Ran stopped = Reveza("stop");
  EXPECT_EQ(stopped.status, kDone) << stopped.output;
  ExpectError("stop", kNoDaemon, "no daemon answers");
}

TEST_F(RevezaTest, ProgramsReserveClosedStandardDescriptors) {
  const std::string socket = (place_ / "own.sock").string();
  const Ran daemon =
      Shell(REVEZA_DAEMON " --socket " + socket + " <&- >&- 2>&- & pid=$!; until [ -S " + socket +
            " ]; do kill -0 $pid || exit 1; sleep 0.01; done;"
            " for fd in 0 1 2; do readlink /proc/$pid/fd/$fd; done;"
            " kill $pid; wait $pid");
  EXPECT_EQ(daemon.output, "/dev/null\n/dev/null\n/dev/null\n");
  if (!std::filesystem::exists(REVEZA_LIBRARY)) GTEST_SKIP() << "libreveza.so is not built";
  const Ran run = Reveza(
      "run -- sh -c \"test -e /proc/\\$\\$/fd/0 && test -e /proc/\\$\\$/fd/1 && "
      "test -e /proc/\\$\\$/fd/2\" <&- >&- 2>&-");
  EXPECT_EQ(run.status, kDone);
}

TEST_F(RevezaTest, RunPassesTheBudgetToTheProgram) {
  if (!std::filesystem::exists(REVEZA_LIBRARY)) GTEST_SKIP() << "libreveza.so is not built";
  extra_ = "FAKECUDA_MEMORY=256MiB FAKECUDA_DIR=" + place_.path().string();
  EXPECT_NE(Reveza("run --gpu-budget 64MiB -- env").output.find("REVEZA_GPU_BUDGET=67108864"),
            std::string::npos);
  EXPECT_NE(Reveza("run -- env").output.find("REVEZA_GPU_BUDGET=67108864"), std::string::npos)
      << "the budget of the running daemon applies";
}

TEST_F(RevezaTest, RejectsABudgetLargerThanTheGpu) {
  if (!std::filesystem::exists(REVEZA_LIBRARY) ||
      !std::filesystem::exists(REVEZA_FAKECUDA "/libcuda.so.1")) {
    GTEST_SKIP() << "libreveza.so or fakecuda is not built";
  }
  extra_ = "LD_LIBRARY_PATH=" REVEZA_FAKECUDA " FAKECUDA_MEMORY=256MiB FAKECUDA_DIR=" +
           place_.path().string();
  ExpectError("run --gpu-budget 64GiB -- true", kBudget, "256 MiB");
}

}  // namespace reveza_test
}  // namespace reveza::cli
