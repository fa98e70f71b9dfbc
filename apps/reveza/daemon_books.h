// What a runner asks of the daemon that shares the GPUs, again and again. Thread-safety: none.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "daemon_link.h"
#include "runner/decide/gpu_books.h"

namespace reveza::cli {

class DaemonBooks {
 public:
  explicit DaemonBooks(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // Nothing where no daemon answers. One that takes longer than a moment is left alone for a while,
  // because who asks has steps to start meanwhile.
  std::optional<runner::GpuBooks> Ask();

 private:
  std::filesystem::path socket_;
  std::optional<DaemonLink> link_;
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace reveza::cli
