#include "reveza/gpu/daemon/server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/platform/testing_descriptors.h"
#include "reveza/gpu/daemon/testing_server.h"

namespace reveza::daemon {
namespace server_test {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class ServerTest : public ServerFixture {
 protected:
  // Starts a client process with 100 MiB and an open gate, which runs until it is killed.
  pid_t StartClientProcess(std::uint64_t job, const char* name, bool close_socket) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      TestingClient client(socket_);
      client.Start(job, name, 1, kCard, kContext);
      client.AllocateSwapped(100 * kMiB);
      const bool entered = client.EnterGate();
      if (close_socket) client.Close();
      [[maybe_unused]] const auto written = write(ready[1], entered ? "y" : "n", 1);
      for (;;) pause();
    }
    char answer = '?';
    close(ready[1]);
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    close(ready[0]);
    return child;
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
};

// Connections wait in the backlog while there are no descriptors, and the daemon does not spin.
TEST_F(ServerTest, AcceptPausesOnEmfile) {
  RunningServer server(socket_);
  TestingClient early(socket_);
  early.SendHello(1, "early");
  StatusWhen([](const json& status) { return status.at("clients").size() == 1; });
  UniqueFd late(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(late);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof(address.sun_path) - 1);
  {
    const platform::NoDescriptors none;
    ASSERT_EQ(connect(late.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    std::this_thread::sleep_for(seconds(1));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    EXPECT_LT(static_cast<double>(after.tv_sec - before.tv_sec) +
                  1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec),
              0.5);
  }
  TestingClient asker(std::move(late));
  asker.Send(wire::StatusRequest{});
  EXPECT_EQ(json::parse(asker.AwaitText(), nullptr, false).at("clients").size(), 1u);
}

// Its exit could not be detected.
TEST_F(ServerTest, RefusesClientWithoutPidfd) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  StatusWhen([](const json&) { return true; });  // the connection has been accepted
  char packet[wire::kPacketSize<wire::Refused>];
  {
    // poll() fails without descriptors, so use a receive timeout.
    const platform::NoDescriptors none;
    const timeval limit{60, 0};
    setsockopt(client.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    client.SendHello(1, "unwatched");
    ASSERT_EQ(recv(client.fd(), packet, sizeof(packet), 0), static_cast<ssize_t>(sizeof(packet)));
  }
  wire::Type type{};
  ASSERT_EQ(wire::Validate(packet, sizeof(packet), &type), wire::DecodeError::kNone);
  ASSERT_EQ(type, wire::Type::kRefused);
  EXPECT_EQ(wire::View<wire::Refused>(packet).reason,
            static_cast<decltype(wire::Refused::reason)>(wire::RefusedReason::kFull));
}

TEST_F(ServerTest, AnswersStatusAndTrace) {
  RunningServer server(socket_);
  const json status = Status();
  ASSERT_TRUE(status.is_object());
  EXPECT_EQ(status.at("protocol"), wire::kVersion);
  EXPECT_EQ(status.at("clients").size(), 0u);
  EXPECT_EQ(status.at("host").at("budget"), kGiB);
  TestingClient asker(socket_);
  asker.Send(wire::TraceRequest{});
  EXPECT_TRUE(json::parse(asker.AwaitText()).contains("traceEvents"));
}

TEST_F(ServerTest, SingleClientRunsImmediately) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  client.Start(7, "train-a", 1, kCard, kContext);
  EXPECT_EQ(client.budget(), 248 * kMiB / 32 * 31) << "less the reserve for contexts of others";
  client.AllocateSwapped(100 * kMiB);
  ASSERT_TRUE(client.EnterGate());
  const json status = Status();
  const json& shown = status.at("clients").at(0);
  EXPECT_EQ(shown.at("name"), "train-a");
  EXPECT_EQ(shown.at("pid"), getpid());
  EXPECT_EQ(shown.at("state"), "running");
  EXPECT_EQ(shown.at("footprint").at("resident"), 100 * kMiB);
  EXPECT_EQ(shown.at("footprint").at("context"), kContext);
  EXPECT_EQ(status.at("gpus").at(0).at("resident"), 108 * kMiB);
}

TEST_F(ServerTest, DeathFreesMemoryForWaiter) {
  RunningServer server(socket_);
  const pid_t first = StartClientProcess(7, "train-a", false);
  TestingClient second(socket_);
  second.Start(8, "train-b", 1, kCard, kContext);
  second.AllocateSwapped(200 * kMiB);
  second.Send(wire::GateRequested{});
  const auto why = second.Await<wire::WaitMessage>();
  ASSERT_TRUE(why);
  Kill(first);
  ASSERT_TRUE(second.SwapIn()) << "the memory of the killed process is free";
  EXPECT_TRUE(second.Await<wire::OpenGate>());
  EXPECT_EQ(Status().at("clients").size(), 1u);
}

TEST_F(ServerTest, DeathIsDetectedDespiteInheritedSocket) {
  RunningServer server(socket_);
  int ready[2];
  int hold[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(hold), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(hold[1]);
    char none = 0;
    TestingClient client(socket_);
    client.Start(7, "forks", 1, kCard, kContext);
    if (fork() == 0) _exit(static_cast<int>(read(hold[0], &none, 1)));  // until the test ends
    [[maybe_unused]] const auto written = write(ready[1], "y", 1);
    for (;;) pause();
  }
  close(hold[0]);
  char answer = '?';
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  Kill(child);
  const json status = StatusWhen([](const json& s) { return s.at("clients").empty(); });
  EXPECT_TRUE(status.at("clients").empty());
  for (const int fd : {ready[0], ready[1], hold[1]}) close(fd);
}

TEST_F(ServerTest, DetachedProcessCountsAsExternal) {
  RunningServer server(socket_);
  const pid_t child = StartClientProcess(7, "train-a", true);
  const json status = StatusWhen([](const json& s) { return s.at("clients").empty(); });
  EXPECT_EQ(status.at("clients").size(), 0u);
  const json& gpu = status.at("gpus").at(0);
  EXPECT_EQ(gpu.at("external"), 108 * kMiB);
  EXPECT_EQ(gpu.at("outside").at(0).at("pid"), child);
  EXPECT_EQ(gpu.at("outside").at(0).at("lost"), true);
  Kill(child);
  const json after =
      StatusWhen([](const json& s) { return s.at("gpus").at(0).at("external") == 0; });
  EXPECT_EQ(after.at("gpus").at(0).at("external"), 0u);
}

TEST_F(ServerTest, RefusesInvalidMessages) {
  // A refused connection is closed when the time for its hello is over.
  RunningServer server(socket_, TestSettings(), std::nullopt, ServerOptions{}.max_connections,
                       std::chrono::seconds(2));
  TestingClient client(socket_);
  client.SendRaw("good morning, this is not a message");
  const auto refused = client.Await<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, wire::RefusedReason::kProtocol);
  EXPECT_TRUE(client.AwaitHangup());
  TestingClient silent_first(socket_);
  silent_first.Send(wire::GateRequested{});
  ASSERT_TRUE(silent_first.Await<wire::Refused>()) << "Hello must come first";
  TestingClient twice(socket_);
  twice.SendHello(7, "a");
  ASSERT_TRUE(twice.Await<wire::Welcome>());
  twice.SendHello(7, "a");
  EXPECT_TRUE(twice.Await<wire::Refused>()) << "second Hello";
  TestingClient wrong_gpu(socket_);
  wrong_gpu.SendHello(7, "a");
  ASSERT_TRUE(wrong_gpu.Await<wire::Welcome>());
  wrong_gpu.Send(wire::ContextCreated{3, 0, 1});
  EXPECT_TRUE(wrong_gpu.Await<wire::Refused>()) << "a GPU that it never requested";
  EXPECT_TRUE(Status().is_object()) << "the daemon is unaffected";
}

TEST_F(ServerTest, RefusesOtherProtocolVersion) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  wire::Hello hello{};
  hello.job = 7;
  std::string packet(wire::kPacketSize<wire::Hello>, '\0');
  wire::Encode(hello, packet.data());
  packet[4] = wire::kVersion + 1;
  client.SendRaw(packet);
  const auto refused = client.Await<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, wire::RefusedReason::kWrongVersion);
  EXPECT_EQ(refused->version, wire::kVersion);
}

// A program that runs since before the daemon was upgraded.
TEST_F(ServerTest, ServesClientsOfTheLastVersion) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  client.set_version(wire::kMinVersion);
  client.Start(7, "old", 1, kCard, kContext);
  client.AllocateSwapped(100 * kMiB);
  EXPECT_TRUE(client.EnterGate());
  EXPECT_EQ(client.versions_received(), std::set<std::uint16_t>{wire::kMinVersion});
  client.Send(wire::Yield{});
  EXPECT_TRUE(client.Await<wire::Refused>()) << "it cannot know this message";
}

TEST_F(ServerTest, HelloTimeoutDropsConnection) {
  RunningServer server(socket_, TestSettings(), std::nullopt, 16, seconds(1));
  TestingClient client(socket_);
  EXPECT_TRUE(client.AwaitHangup());
}

TEST_F(ServerTest, RefusesConnectionsAboveMaximum) {
  RunningServer server(socket_, TestSettings(), std::nullopt, 2);
  TestingClient first(socket_);
  TestingClient second(socket_);
  for (TestingClient* client : {&first, &second}) {
    client->Send(wire::StatusRequest{});
    EXPECT_NE(client->AwaitText(), "");
  }
  TestingClient third(socket_);
  const auto refused = third.Await<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, wire::RefusedReason::kFull);
}

TEST_F(ServerTest, SecondDaemonIsRefused) {
  RunningServer first(socket_);
  RunningServer second(socket_);
  ASSERT_TRUE(second.error);
  EXPECT_EQ(second.error->code, Error::Code::kUnavailable);
  EXPECT_TRUE(Status().is_object()) << "the first daemon still runs";
}

TEST_F(ServerTest, RefusesOtherUser) {
  if (getuid() != 0) GTEST_SKIP() << "needs root to change the user";
  RunningServer server(socket_);
  ASSERT_EQ(chmod(place_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(socket_.c_str(), 0666), 0) << "even with a world-writable socket";
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    TestingClient client(socket_);
    client.Send(wire::StatusRequest{});
    const auto refused = client.Await<wire::Refused>();
    _exit(refused && refused->reason == wire::RefusedReason::kUser ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ServerTest, AcceptsGroupMember) {
  if (getuid() != 0) GTEST_SKIP() << "needs root to change the user";
  RunningServer server(socket_, TestSettings(), 65534);
  ASSERT_EQ(chmod(place_.path().c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    TestingClient client(socket_);
    client.Send(wire::StatusRequest{});
    if (client.AwaitText().empty()) _exit(1);
    TestingClient stopper(socket_);
    stopper.Send(wire::StopRequest{1, 0});
    _exit(stopper.AwaitText().find("\"stops\":false") == std::string::npos ? 3 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ServerTest, StopRequestNeedsForceWithClients) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  client.SendHello(7, "train-a");
  ASSERT_TRUE(client.Await<wire::Welcome>());
  TestingClient stopper(socket_);
  stopper.Send(wire::StopRequest{0, 0});
  const json refused = json::parse(stopper.AwaitText());
  EXPECT_EQ(refused.at("stops"), false);
  EXPECT_EQ(refused.at("clients"), 1);
  TestingClient forcer(socket_);
  forcer.Send(wire::StopRequest{1, 0});
  EXPECT_EQ(json::parse(forcer.AwaitText()).at("stops"), true);
  server.Join();
  EXPECT_TRUE(client.Await<wire::Credit>() == std::nullopt);
}

TEST_F(ServerTest, ExitsAfterLinger) {
  Settings settings = TestSettings();
  settings.linger = milliseconds(10);
  RunningServer server(socket_, settings);
  server.Join();
  server.Shutdown();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(ServerTest, RestartedDaemonAdoptsClients) {
  auto server = std::make_unique<RunningServer>(socket_);
  TestingClient before(socket_);
  before.Start(7, "train-a", 1, kCard, kContext);
  server = nullptr;
  EXPECT_TRUE(before.AwaitHangup());
  server = std::make_unique<RunningServer>(socket_);
  TestingClient after(socket_);
  after.SendHello(7, "train-a", wire::kHelloResuming, true);
  ASSERT_TRUE(after.Await<wire::Welcome>());
  wire::Resumed resumed{};
  resumed.uuid[15] = 1;
  resumed.total = kCard;
  resumed.resident = 100 * kMiB;
  resumed.context = kContext;
  resumed.credit = 108 * kMiB;
  after.Send(resumed);
  const auto admitted = after.Await<wire::ContextAdmitted>();
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->budget, 248 * kMiB / 32 * 31) << "less the reserve for contexts of others";
  const json status = Status();
  EXPECT_EQ(status.at("clients").at(0).at("state"), "running");
  EXPECT_EQ(status.at("gpus").at(0).at("resident"), 108 * kMiB);
}

}  // namespace server_test
}  // namespace reveza::daemon
