// The command line's end of the daemon's socket, and starting a daemon where there is none.
// Thread-safety: none.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <expected>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "exit_status.h"

namespace reveza::cli {

// What to say, and the status to end with.
struct Trouble {
  ExitStatus status = kFailed;
  std::string message;
};
template <typename T>
using Outcome = std::expected<T, Trouble>;

class DaemonLink {
 public:
  // kNoDaemon when nobody listens at `socket`, kPermission when it is another user's.
  static Outcome<DaemonLink> Connect(const std::filesystem::path& socket);
  // The same, after starting a daemon if there is none. `flags` are for revezad.
  static Outcome<DaemonLink> ConnectOrStart(const std::filesystem::path& socket,
                                            const std::vector<std::string>& flags);

  Outcome<nlohmann::json> Status();
  // How long a daemon that hangs may keep us waiting: 20 s when not said.
  void LimitAnswers(std::chrono::milliseconds limit) { answer_limit_ = limit; }
  // Who listens, as this process counts processes; 0 when it cannot be seen from here.
  pid_t Peer() const;
  Outcome<std::string> Trace();
  Outcome<nlohmann::json> Stop(bool force);

 private:
  explicit DaemonLink(UniqueFd fd, std::filesystem::path socket)
      : fd_(std::move(fd)), socket_(std::move(socket)) {}
  Outcome<std::string> Ask(const void* packet, std::size_t size);
  Outcome<nlohmann::json> AskJson(const void* packet, std::size_t size);

  UniqueFd fd_;
  std::filesystem::path socket_;
  std::chrono::milliseconds answer_limit_{20'000};
};

// The file that a daemon started from here writes to.
std::filesystem::path LogOf(const std::filesystem::path& socket);

}  // namespace reveza::cli
