// The supervisor's end of its connection to the runner.
#pragma once

#include <optional>
#include <string>

#include "reveza/jobs/supervisor/frames.h"

namespace reveza::jobs {

// Does not own the socket. Not thread-safe.
class RunnerSocket {
 public:
  explicit RunnerSocket(int socket) : socket_(socket) {}

  // Returns false once the runner has gone, or has sent what is no frame.
  bool connected() const { return connected_; }
  // Returns what to poll; -1 without a connection, which poll() ignores.
  int descriptor() const { return connected_ ? socket_ : -1; }
  // Sends a frame with the next Flush(), together with others.
  void Send(const std::string& frame) { unsent_ += frame; }
  void Flush();
  // Receives what has arrived, without waiting.
  void Receive();
  // Returns the next complete frame, if any.
  std::optional<Frame> Next();

 private:
  int socket_;
  bool connected_ = true;
  FrameReader reader_;
  std::string unsent_;
};

}  // namespace reveza::jobs
