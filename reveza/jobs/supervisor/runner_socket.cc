#include "reveza/jobs/supervisor/runner_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace reveza::jobs {

void RunnerSocket::Flush() {
  std::string_view left = unsent_;
  while (connected_ && !left.empty()) {
    const ssize_t sent = send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) break;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  unsent_.clear();
}

void RunnerSocket::Receive() {
  char bytes[65536];
  const ssize_t size = recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) {
    reader_.Feed({bytes, static_cast<std::size_t>(size)});
  } else {
    connected_ = false;
  }
}

std::optional<Frame> RunnerSocket::Next() {
  auto frame = reader_.Next();
  if (reader_.broken()) connected_ = false;
  return frame;
}

}  // namespace reveza::jobs
