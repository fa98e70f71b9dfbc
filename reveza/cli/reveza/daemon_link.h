// A client connection to the daemon; starts the daemon if needed. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::cli {

class DaemonLink {
 public:
  // Connects to the daemon at `socket`. kNoDaemon if none listens, kPermission if it is another
  // user's.
  static CommandResult<DaemonLink> Connect(const std::filesystem::path& socket);
  // Like Connect(), but starts a daemon with `flags` if none listens. kNotStarted if that fails.
  static CommandResult<DaemonLink> ConnectOrStart(const std::filesystem::path& socket,
                                                  const std::vector<std::string>& flags);

  CommandResult<nlohmann::json> Status();
  // Sets the timeout of each answer. The default is 20 s.
  void SetTimeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // Returns the daemon's pid in this process's PID namespace, or 0 if it is in another one.
  pid_t Peer() const;
  CommandResult<std::string> Trace();
  // Returns the trace's events from number `since` on. kVersion: the daemon is too old.
  CommandResult<nlohmann::json> Events(std::uint64_t since);
  CommandResult<nlohmann::json> Stop(bool force);
  CommandResult<nlohmann::json> AskForMps(const wire::MpsRequest& request);
  CommandResult<nlohmann::json> Change(const wire::JobRequest& request);

 private:
  explicit DaemonLink(UniqueFd fd, std::filesystem::path socket)
      : fd_(std::move(fd)), socket_(std::move(socket)) {}
  // Returns the answer to a message. Speaks the version of an older daemon; kVersion if that does
  // not know the message.
  template <typename T>
  CommandResult<std::string> Request(const T& message);
  template <typename T>
  CommandResult<nlohmann::json> RequestJson(const T& message);
  CommandResult<std::string> Exchange(const void* packet, std::size_t size);
  // Returns whether the daemon, which has refused our version, was reached again in its own.
  bool FallBackTo(std::uint32_t version);

  UniqueFd fd_;
  std::filesystem::path socket_;
  std::uint16_t version_ = wire::kVersion;  // of the protocol
  std::chrono::milliseconds timeout_{20'000};
};

// Returns the log file of a daemon that ConnectOrStart() starts.
std::filesystem::path LogPath(const std::filesystem::path& socket);

}  // namespace reveza::cli
