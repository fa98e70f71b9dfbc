// A proxy for tests that injects network faults between a client and a local server: connection
// resets, lost responses, throttling, stalls, downtime. Understands just enough HTTP to find the
// start of a request. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/unique_fd.h"

namespace reveza::fraudgen {

struct Fault {
  enum class Kind {
    kReset,         // resets the connection after `after` bytes of the request
    kLoseResponse,  // the server handles the request; the connection is reset before the response
    kStall,         // no more bytes are forwarded on this connection
  };
  Kind kind = Kind::kReset;
  std::string request;  // substring of the request line
  uint64_t after = 0;
  int times = 1;
};

class FaultProxy {
 public:
  // Listens on a free TCP port and forwards to the server at this Unix socket.
  explicit FaultProxy(std::string socket);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // 127.0.0.1:PORT
  std::string endpoint() const;

  void Add(Fault fault);
  // Number of faults not injected yet.
  int pending() const;
  // Limits the requests on each connection; 0: no limit.
  void Throttle(uint64_t bytes_per_second) { rate_ = bytes_per_second; }
  // While down, resets all existing and new connections.
  void SetDown(bool down) { down_ = down; }

  // Request lines so far.
  std::vector<std::string> requests() const;
  // Number of request lines that contain `part`.
  int CountOf(std::string_view part) const;

 private:
  struct Connection;

  void Accept();
  void Relay(UniqueFd client);
  bool ForwardRequest(Connection& connection);
  bool ForwardResponse(Connection& connection);
  void Begin(Connection& connection, std::string_view line);

  const std::string socket_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> down_ = false;
  std::atomic<uint64_t> rate_ = 0;

  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::vector<std::string> requests_;
  std::vector<std::thread> connections_;

  std::thread acceptor_;  // last: it uses the other members
};

}  // namespace reveza::fraudgen
