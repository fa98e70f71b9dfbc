// The client's end of the daemon's socket. Libc only.
// Thread-safety: the agent alone.
#pragma once

#include <cstddef>

#include "wire/codec.h"
#include "wire/messages.h"

namespace reveza::interpose {

class Connection {
 public:
  enum class Received { kMessage, kNothing, kClosed };

  Connection() = default;
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects to the socket that REVEZA_SOCKET names. false: nobody answers.
  bool Open();
  void Close();
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  // false: the daemon is gone (the connection is then closed). Waits while the socket is full,
  // but not for ever: a daemon that does not read is no daemon.
  template <typename T>
  bool Send(const T& body) {
    char packet[wire::kPacketSize<T>];
    return SendPacket(packet, wire::Encode(body, packet));
  }

  // The next message, without waiting. What is not well-formed closes the connection.
  Received Receive(wire::Type* type);
  // The body of the message that Receive gave.
  template <typename T>
  T Body() const {
    return wire::View<T>(packet_);
  }

 private:
  bool SendPacket(const void* packet, std::size_t size);

  int fd_ = -1;
  char packet_[wire::kMaxPacket];
};

}  // namespace reveza::interpose
