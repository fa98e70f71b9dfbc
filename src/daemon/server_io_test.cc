// What goes over the socket: long answers, and those who do not read.
#include <gtest/gtest.h>

#include <string>

#include "daemon/testing_server.h"

namespace reveza::daemon {
namespace {

using nlohmann::json;

using ServerIoTest = ServerFixture;

// So much happens that the trace needs several packets.
void MakeHistory(const std::filesystem::path& socket) {
  for (int i = 0; i < 300; ++i) {
    TestingClient client(socket);
    client.Start(static_cast<std::uint64_t>(i) + 1, std::string(60, 'x').c_str(), 1, kCard,
                 kContext);
    EXPECT_TRUE(client.EnterGate());
  }
}

TEST_F(ServerIoTest, ALongAnswerComesInParts) {
  RunningServer server(socket_);
  MakeHistory(socket_);
  TestingClient asker(socket_);
  asker.Send(wire::TraceRequest{});
  const std::string text = asker.AwaitText();
  EXPECT_GT(text.size(), wire::kMaxPacket);
  EXPECT_TRUE(json::parse(text, nullptr, false).is_object());
}

TEST_F(ServerIoTest, AnswersComeInTheOrderOfTheQuestions) {
  RunningServer server(socket_);
  TestingClient asker(socket_);
  asker.Send(wire::TraceRequest{});
  asker.Send(wire::StatusRequest{});
  EXPECT_EQ(asker.AwaitText().find("\"protocol\""), std::string::npos);
  EXPECT_NE(asker.AwaitText().find("\"protocol\""), std::string::npos);
}

TEST_F(ServerIoTest, WhoAsksAndDoesNotReadIsDropped) {
  RunningServer server(socket_);
  MakeHistory(socket_);
  TestingClient asker(socket_);
  for (int i = 0; i < 500; ++i) asker.Send(wire::TraceRequest{});
  EXPECT_TRUE(asker.AwaitEnd());
  EXPECT_TRUE(Status().is_object()) << "others are answered";
}

TEST_F(ServerIoTest, AClientThatDoesNotReadRunsOnAlone) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  client.Start(7, "deaf", 1, kCard, kContext);
  // Each is refused, with a message that nobody reads.
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    client.Send(wire::GrowthWanted{i, client.gpu(), wire::GrowthKind::kSwappable, 0, 100 * kCard});
  }
  // Its process lives (it is ours): what it holds lessens the budget.
  const json status = StatusWhen([](const json& s) { return s.at("clients").empty(); });
  EXPECT_TRUE(status.at("clients").empty());
  EXPECT_EQ(status.at("gpus").at(0).at("external"), kContext);
}

TEST_F(ServerIoTest, WhoWasRefusedIsNotListenedTo) {
  RunningServer server(socket_);
  TestingClient client(socket_);
  client.SendRaw("nonsense");
  client.Send(wire::StatusRequest{});
  client.Send(wire::StopRequest{1, 0});
  EXPECT_TRUE(client.Await<wire::Refused>());
  EXPECT_EQ(client.AwaitText(), "");
  EXPECT_TRUE(Status().is_object()) << "it was not stopped";
}

TEST_F(ServerIoTest, RolesDoNotMix) {
  RunningServer server(socket_);
  TestingClient asker(socket_);
  asker.Send(wire::StatusRequest{});
  EXPECT_NE(asker.AwaitText(), "");
  asker.SayHello(7, "a");
  EXPECT_TRUE(asker.Await<wire::Refused>()) << "the command line is no client";
  TestingClient client(socket_);
  client.SayHello(7, "a");
  ASSERT_TRUE(client.Await<wire::Welcome>());
  client.Send(wire::StopRequest{1, 0});
  EXPECT_TRUE(client.Await<wire::Refused>()) << "a client stops nobody";
  EXPECT_TRUE(Status().is_object());
}

TEST_F(ServerIoTest, TheLastWordsOfWhoLeavesCount) {
  RunningServer server(socket_);
  {
    TestingClient client(socket_);
    client.Send(wire::StopRequest{1, 0});  // and hangs up at once
  }
  server.Join();
}

}  // namespace
}  // namespace reveza::daemon
