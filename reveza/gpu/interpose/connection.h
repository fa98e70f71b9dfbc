// The client's end of the socket to the daemon. Libc only. Not thread-safe; used by the agent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::interpose {

class Connection {
 public:
  Connection() = default;
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects to the socket named by REVEZA_SOCKET. Returns false if that fails, with the reason in
  // errno.
  bool Open();
  void Close();
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  // The protocol version to speak, which the peer understands.
  std::uint16_t version() const { return version_; }
  void set_version(std::uint16_t version) { version_ = version; }

  // Sends a message, unless its version lacks it; blocks up to ten seconds while the socket buffer
  // is full. On failure closes the connection and returns false.
  template <typename T>
  bool Send(const T& body) {
    if (!wire::IsKnownTo<T>(version_)) return is_open();
    char packet[wire::kPacketSize<T>];
    return SendPacket(packet, wire::Encode(body, packet, version_));
  }

  // Receives the next message without blocking. Returns false if there is none. A malformed message
  // or a lost connection closes this end.
  bool Receive(wire::Type* type);
  // Returns the protocol version of a peer with which there is no common one; 0 if there is.
  std::uint16_t other_version() const { return other_version_; }
  // Returns the last message received.
  const char* packet() const { return packet_; }

 private:
  bool SendPacket(const void* packet, std::size_t size);

  int fd_ = -1;
  std::uint16_t version_ = wire::kVersion;
  std::uint16_t other_version_ = 0;
  char packet_[wire::kMaxPacket];
};

}  // namespace reveza::interpose
