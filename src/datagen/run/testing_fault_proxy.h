// For tests: stands between a client and a server of this machine and does what networks do to
// them: cuts requests, loses answers, slows down, falls silent, is not there. Knows HTTP just
// enough to tell where a request begins. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace reveza::datagen {

struct Fault {
  enum class Kind {
    kCut,         // resets the connection when `after` bytes of the request have passed
    kLoseAnswer,  // the server gets all of it and does it; the connection is reset then
    kSilence,     // nothing moves any more on this connection
  };
  Kind kind = Kind::kCut;
  std::string request;  // what the first line of the request has in it
  uint64_t after = 0;
  int times = 1;
};

class FaultProxy {
 public:
  // Listens on a port of its own and passes on to the server at this socket.
  explicit FaultProxy(std::string socket);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // 127.0.0.1:PORT
  std::string endpoint() const;

  void Add(Fault fault);
  // Faults that have not happened as often as they should.
  int left() const;
  // So many bytes a second of requests on each connection; 0: as they come.
  void Slow(uint64_t bytes_per_second) { rate_ = bytes_per_second; }
  // Resets whoever is connected, and whoever connects.
  void SetDown(bool down) { down_ = down; }

  // First lines of all requests so far.
  std::vector<std::string> requests() const;
  // Those that have `part` in them.
  int CountOf(std::string_view part) const;

 private:
  struct Conversation;

  void Accept();
  void Relay(UniqueFd client);
  bool PassRequest(Conversation& conversation);
  bool PassAnswer(Conversation& conversation);
  void Begin(Conversation& conversation, std::string_view line);

  const std::string socket_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> down_ = false;
  std::atomic<uint64_t> rate_ = 0;

  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::vector<std::string> requests_;
  std::vector<std::thread> conversations_;

  std::thread acceptor_;  // last: it uses the others
};

}  // namespace reveza::datagen
