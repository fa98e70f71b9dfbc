#include "interpose/connection.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "platform/testing_directory.h"
#include "platform/unix_socket.h"

namespace reveza::interpose {
namespace {

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
  void Say(const std::string& packet) {
    ASSERT_EQ(send(peer_.get(), packet.data(), packet.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(packet.size()));
  }
  template <typename T>
  static std::string Packet(const T& body) {
    char packet[wire::kPacketSize<T>];
    return {packet, wire::Encode(body, packet)};
  }
  // Receive does not wait: what was sent to it is there already.
  Connection::Received Receive() { return connection_.Receive(&type_); }

  platform::TestingDirectory place_;
  const std::filesystem::path path_ = place_ / "daemon.sock";
  UniqueFd listener_;
  UniqueFd peer_;
  Connection connection_;
  wire::Type type_{};
};

TEST_F(ConnectionTest, NeedsASocketThatSomebodyListensAt) {
  for (const std::string& path :
       {std::string(), (place_ / "nobody").string(), std::string(300, 'x')}) {
    setenv("REVEZA_SOCKET", path.c_str(), 1);
    EXPECT_FALSE(connection_.Open()) << path;
    EXPECT_FALSE(connection_.is_open());
  }
  unsetenv("REVEZA_SOCKET");
  EXPECT_FALSE(connection_.Open());
}

TEST_F(ConnectionTest, CarriesMessagesBothWays) {
  Connect();
  EXPECT_EQ(Receive(), Connection::Received::kNothing);
  EXPECT_TRUE(connection_.Send(wire::GateClosed{7, 1, 2, 0}));
  char packet[wire::kMaxPacket];
  const ssize_t got = recv(peer_.get(), packet, sizeof(packet), 0);
  ASSERT_EQ(wire::Validate(packet, static_cast<std::size_t>(got), &type_),
            wire::DecodeError::kNone);
  EXPECT_EQ(wire::View<wire::GateClosed>(packet).serial, 7u);
  Say(Packet(wire::CloseGate{8, 1000}));
  Say(Packet(wire::OpenGate{9, 0}));
  ASSERT_EQ(Receive(), Connection::Received::kMessage);
  EXPECT_EQ(type_, wire::Type::kCloseGate);
  EXPECT_EQ(connection_.Body<wire::CloseGate>().serial, 8u);
  ASSERT_EQ(Receive(), Connection::Received::kMessage);
  EXPECT_EQ(connection_.Body<wire::OpenGate>().serial, 9u);
  EXPECT_EQ(Receive(), Connection::Received::kNothing);
}

TEST_F(ConnectionTest, WhatIsNoMessageEndsIt) {
  std::string other_version = Packet(wire::OpenGate{9, 0});
  other_version[4] = wire::kVersion + 1;
  std::string half = Packet(wire::OpenGate{9, 0});
  half.pop_back();
  for (const std::string& packet : {std::string("nonsense"), other_version, half}) {
    Connect();
    Say(packet);
    EXPECT_EQ(Receive(), Connection::Received::kClosed);
    EXPECT_FALSE(connection_.is_open());
    EXPECT_EQ(Receive(), Connection::Received::kClosed) << "and stays so";
    EXPECT_FALSE(connection_.Send(wire::GateWanted{}));
  }
}

TEST_F(ConnectionTest, NoticesThatTheDaemonIsGone) {
  Connect();
  Say(Packet(wire::OpenGate{9, 0}));
  peer_.Reset();
  EXPECT_EQ(Receive(), Connection::Received::kMessage) << "its last words count";
  EXPECT_EQ(Receive(), Connection::Received::kClosed);
  Connect();
  peer_.Reset();
  EXPECT_FALSE(connection_.Send(wire::GateWanted{}));
  EXPECT_FALSE(connection_.is_open());
}

TEST_F(ConnectionTest, OpensAgain) {
  Connect();
  const UniqueFd first = std::move(peer_);
  Connect();
  char byte = 0;
  EXPECT_EQ(recv(first.get(), &byte, 1, 0), 0) << "the first one is closed";
  EXPECT_TRUE(connection_.Send(wire::GateWanted{}));
}

}  // namespace
}  // namespace reveza::interpose
