// Owned file descriptors. Not thread-safe.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <expected>
#include <utility>

namespace reveza {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  // Closes and reports errors, since some file systems report failed writes only here. The error is
  // an errno.
  std::expected<void, int> Close() {
    if (fd_ < 0 || close(Release()) == 0) return {};
    return std::unexpected(errno);
  }
  void Reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

// Makes a pipe that is closed by exec(). The error is an errno.
inline std::expected<Pipe, int> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace reveza
