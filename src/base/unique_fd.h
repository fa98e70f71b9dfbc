// A file descriptor with one owner. Thread-safety: as for an int.
#pragma once

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
  // Some file systems say only then that something was not written. The error is an errno.
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

}  // namespace reveza
