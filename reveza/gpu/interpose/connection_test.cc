#include "reveza/gpu/interpose/connection.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "common/platform/testing_directory.h"
#include "common/platform/unix_socket.h"

namespace reveza::interpose {
namespace connection_test {

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    auto listener = platform::ListenAt(path_, std::nullopt);
    if (listener) listener_ = std::move(*listener);
    setenv("REVEZA_SOCKET", path_.c_str(), 1);
  }

  void Connect() {
    ASSERT_TRUE(connection_.Open());
    peer_.Reset(accept(listener_.get(), nullptr, nullptr));
    ASSERT_TRUE(peer_);
  }
  void SendToClient(const std::string& packet) {
    ASSERT_EQ(send(peer_.get(), packet.data(), packet.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(packet.size()));
  }
  template <typename T>
  static std::string Packet(const T& body) {
    char packet[wire::kPacketSize<T>];
    return {packet, wire::Encode(body, packet)};
  }
  // Does not block; packets sent before have arrived already.
  bool Receive() { return connection_.Receive(&type_); }

  platform::TestingDirectory directory_;
  const std::filesystem::path path_ = directory_ / "daemon.sock";
  UniqueFd listener_;
  UniqueFd peer_;
  Connection connection_;
  wire::Type type_{};
};

TEST_F(ConnectionTest, OpenFailsWithoutAListener) {
  for (const std::string& path :
       {std::string(), (directory_ / "no-listener").string(), std::string(300, 'x')}) {
    setenv("REVEZA_SOCKET", path.c_str(), 1);
    EXPECT_FALSE(connection_.Open()) << path;
    EXPECT_FALSE(connection_.is_open());
  }
  unsetenv("REVEZA_SOCKET");
  EXPECT_FALSE(connection_.Open());
}

TEST_F(ConnectionTest, SendsAndReceivesMessages) {
  Connect();
  EXPECT_FALSE(Receive());
  EXPECT_TRUE(connection_.is_open());
  EXPECT_TRUE(connection_.Send(wire::GateClosed{7, 1, 2, 0}));
  char packet[wire::kMaxPacket];
  const ssize_t got = recv(peer_.get(), packet, sizeof(packet), 0);
  ASSERT_EQ(wire::Validate(packet, static_cast<std::size_t>(got), &type_),
            wire::DecodeError::kNone);
  EXPECT_EQ(wire::View<wire::GateClosed>(packet).serial, 7u);
  SendToClient(Packet(wire::CloseGate{8, 1000, 1000, 0}));
  SendToClient(Packet(wire::OpenGate{9, 0}));
  ASSERT_TRUE(Receive());
  EXPECT_EQ(type_, wire::Type::kCloseGate);
  EXPECT_EQ(wire::View<wire::CloseGate>(connection_.packet()).serial, 8u);
  ASSERT_TRUE(Receive());
  EXPECT_EQ(wire::View<wire::OpenGate>(connection_.packet()).serial, 9u);
  EXPECT_FALSE(Receive());
  EXPECT_TRUE(connection_.is_open());
}

TEST_F(ConnectionTest, MalformedMessageClosesConnection) {
  std::string other_version = Packet(wire::OpenGate{9, 0});
  other_version[4] = wire::kVersion + 1;
  std::string half = Packet(wire::OpenGate{9, 0});
  half.pop_back();
  for (const std::string& packet : {std::string("nonsense"), other_version, half}) {
    Connect();
    SendToClient(packet);
    EXPECT_FALSE(Receive());
    EXPECT_FALSE(connection_.is_open());
    EXPECT_FALSE(Receive()) << "must stay closed";
    EXPECT_FALSE(connection_.Send(wire::GateRequested{}));
  }
}

TEST_F(ConnectionTest, NamesTheVersionOfAnotherProtocol) {
  std::string refused = Packet(wire::Refused{});
  refused[4] = wire::kVersion + 1;
  Connect();
  SendToClient(refused);
  EXPECT_FALSE(Receive());
  EXPECT_EQ(connection_.other_version(), wire::kVersion + 1);
  Connect();
  EXPECT_EQ(connection_.other_version(), 0);
}

TEST_F(ConnectionTest, DetectsDisconnect) {
  Connect();
  SendToClient(Packet(wire::OpenGate{9, 0}));
  peer_.Reset();
  EXPECT_TRUE(Receive()) << "messages sent before closing are delivered";
  EXPECT_FALSE(Receive());
  EXPECT_FALSE(connection_.is_open());
  Connect();
  peer_.Reset();
  EXPECT_FALSE(connection_.Send(wire::GateRequested{}));
  EXPECT_FALSE(connection_.is_open());
}

TEST_F(ConnectionTest, CanBeReopened) {
  Connect();
  const UniqueFd first = std::move(peer_);
  Connect();
  char byte = 0;
  EXPECT_EQ(recv(first.get(), &byte, 1, 0), 0) << "the first connection is closed";
  EXPECT_TRUE(connection_.Send(wire::GateRequested{}));
}

}  // namespace connection_test
}  // namespace reveza::interpose
