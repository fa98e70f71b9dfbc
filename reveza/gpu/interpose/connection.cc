#include "reveza/gpu/interpose/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace reveza::interpose {
namespace {

constexpr int kSendTimeoutMs = 10'000;

}  // namespace

bool Connection::Open() {
  Close();
  other_version_ = 0;
  const char* path = getenv("REVEZA_SOCKET");
  errno = EDESTADDRREQ;
  if (path == nullptr || path[0] == '\0') return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  errno = ENAMETOOLONG;
  if (strlen(path) >= sizeof(address.sun_path)) return false;
  strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  fd_ = fd;
  return true;
}

void Connection::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

bool Connection::SendPacket(const void* packet, std::size_t size) {
  if (fd_ < 0) return false;
  for (;;) {
    const ssize_t sent = send(fd_, packet, size, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(size)) return true;
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      pollfd writable{fd_, POLLOUT, 0};
      if (poll(&writable, 1, kSendTimeoutMs) > 0) continue;
    }
    Close();
    return false;
  }
}

bool Connection::Receive(wire::Type* type) {
  if (fd_ < 0) return false;
  for (;;) {
    const ssize_t got = recv(fd_, packet_, sizeof(packet_), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    const wire::DecodeError error =
        got > 0 ? wire::Validate(packet_, static_cast<std::size_t>(got), type)
                : wire::DecodeError::kShort;
    if (error == wire::DecodeError::kNone) return true;
    if (error == wire::DecodeError::kWrongVersion) other_version_ = wire::VersionOf(packet_);
    Close();
    return false;
  }
}

}  // namespace reveza::interpose
