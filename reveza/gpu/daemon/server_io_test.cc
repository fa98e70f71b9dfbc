// Tests long answers and peers that do not read.
#include <gtest/gtest.h>

#include <string>

#include "reveza/gpu/daemon/testing_server.h"

namespace reveza::daemon {
namespace server_io_test {

using nlohmann::json;

using ServerIoTest = ServerFixture;

// Creates enough events for a trace of several packets.
void MakeHistory(const std::filesystem::path& socket) {
  for (int i = 0; i < 300; ++i) {
    TestingClient client(socket);
    client.Start(static_cast<std::uint64_t>(i) + 1, std::string(60, 'x').c_str(), 1, kCard,
                 kContext);
    EXPECT_TRUE(client.EnterGate());
  }
}

TEST_F(ServerIoTest, LongAnswerIsSplit) {
  RunningServer server(socket_);
  MakeHistory(socket_);
  TestingClient asker(socket_);
  asker.Send(wire::TraceRequest{});
  const std::string text = asker.AwaitText();
  EXPECT_GT(text.size(), wire::kMaxPacket);
  EXPECT_TRUE(json::parse(text, nullptr, false).is_object());
}

TEST_F(ServerIoTest, AnswersKeepRequestOrder) {
  RunningServer server(socket_);
  TestingClient asker(socket_);
  asker.Send(wire::TraceRequest{});
  asker.Send(wire::StatusRequest{});
  EXPECT_EQ(asker.AwaitText().find("\"protocol\""), std::string::npos);
  EXPECT_NE(asker.AwaitText().find("\"protocol\""), std::string::npos);
}

TEST_F(ServerIoTest, DropsRequesterThatDoesNotRead) {
  RunningServer server(socket_);
  MakeHistory(socket_);
  TestingClient asker(socket_);
  for (int i = 0; i < 500; ++i) asker.Send(wire::TraceRequest{});
  EXPECT_TRUE(asker.AwaitHangup());
  EXPECT_TRUE(Status().is_object()) << "others are still served";
}

TEST_F(ServerIoTest, ClientThatDoesNotReadBecomesDetached) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  client.Start(7, "slow", 1, kCard, kContext);
  // Each request is refused, with a message that is never read.
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    client.Send(
        wire::GrowthRequested{i, client.gpu(), wire::GrowthKind::kSwappable, 0, 100 * kCard});
  }
  // Its process (this one) is alive: its memory reduces the budget.
  const json status = StatusWhen([](const json& s) { return s.at("clients").empty(); });
  EXPECT_TRUE(status.at("clients").empty());
  EXPECT_EQ(status.at("gpus").at(0).at("external"), kContext);
}

TEST_F(ServerIoTest, IgnoresMessagesOfRefusedPeer) {
  // A refused connection is closed when the time for its hello is over.
  RunningServer server(socket_, TestSettings(), std::nullopt, ServerOptions{}.max_connections,
                       std::chrono::seconds(2));
  TestingClient client(socket_);
  client.SendRaw("nonsense");
  client.Send(wire::StatusRequest{});
  client.Send(wire::StopRequest{1, 0});
  EXPECT_TRUE(client.Await<wire::Refused>());
  EXPECT_EQ(client.AwaitText(), "");
  EXPECT_TRUE(Status().is_object()) << "the daemon was not stopped";
}

TEST_F(ServerIoTest, RolesDoNotMix) {
  RunningServer server(socket_);
  TestingClient asker(socket_);
  asker.Send(wire::StatusRequest{});
  EXPECT_NE(asker.AwaitText(), "");
  asker.SendHello(7, "a");
  EXPECT_TRUE(asker.Await<wire::Refused>()) << "a command-line connection cannot become a client";
  TestingClient client(socket_);
  client.SendHello(7, "a");
  ASSERT_TRUE(client.Await<wire::Welcome>());
  client.Send(wire::StopRequest{1, 0});
  EXPECT_TRUE(client.Await<wire::Refused>()) << "a client cannot stop the daemon";
  EXPECT_TRUE(Status().is_object());
}

TEST_F(ServerIoTest, MessagesBeforeHangupAreHandled) {
  RunningServer server(socket_);
  {
    TestingClient client(socket_);
    client.Send(wire::StopRequest{1, 0});  // and hangs up immediately
  }
  server.Join();
}

}  // namespace server_io_test
}  // namespace reveza::daemon
