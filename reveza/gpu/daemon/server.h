// The daemon's event loop: sockets, process exits, timers, signals.
//
// All resources are bounded: connections, time until Hello, send queues. A peer that does not read
// is disconnected and runs on without the daemon. A peer that violates the protocol is refused.
//
// Stop() is safe from any thread or signal handler; everything else from one thread.
#pragma once

#include <sys/epoll.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/platform/process.h"
#include "reveza/gpu/daemon/core.h"
#include "reveza/gpu/daemon/mps.h"

namespace reveza::daemon {

struct ServerOptions {
  std::filesystem::path socket;
  std::optional<gid_t> group;   // unset: only this user
  bool handle_signals = false;  // stop on SIGTERM and SIGINT
  Bytes host_budget = 0;
  usage::Sink* usage = nullptr;  // told what jobs use, if any; must outlive the server
  std::size_t max_connections = 1024;
  Time hello_timeout = std::chrono::seconds(10);  // from connect to Hello
  // How long after a disconnect a process may take to exit before it counts as detached.
  Time death_grace = std::chrono::milliseconds(500);
  Time mps_limit = std::chrono::seconds(5);  // for an answer of nvidia-cuda-mps-control
};

class Server : private Outbox {
 public:
  // Acquires the lock and binds the socket. kUnavailable: another daemon is running. All references
  // must outlive the server; `monitor` may be null, and is used by a thread of the server.
  static Result<std::unique_ptr<Server>> Make(const Settings& settings, ServerOptions options,
                                              const platform::Clock& clock,
                                              nvml::GpuMonitor* monitor, Logger logger);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Runs until Stop(), a signal, a StopRequest, or `linger` without clients.
  Status Run();
  void Stop();

 private:
  // kRefused: read and ignored until the peer closes; closing a socket with unread data would
  // discard the refusal.
  enum class Role { kUnknown, kClient, kCommandLine, kRefused };
  struct Connection {
    std::uint64_t id = 0;
    UniqueFd fd;
    UniqueFd process;  // pidfd: readable on exit
    platform::Credentials peer;
    Role role = Role::kUnknown;
    std::uint16_t version = wire::kVersion;  // of the protocol, in which it is answered
    Time since{0};
    std::deque<std::string> queue;  // packets
    bool wants_write = false;
    bool broken = false;  // dropped after the current event
  };
  // The process of a client without a connection: exiting (during death_grace), then detached.
  struct Orphan {
    UniqueFd process;
    pid_t pid = 0;
    Time since{0};
    bool detached = false;
  };
  enum class Source : std::uint64_t {
    kListener = 1,
    kTimer,
    kSignal,
    kStop,
    kMps,
    kPeer,
    kProcess,
    kOrphan,
    kReadings
  };

  Server(const Settings& settings, ServerOptions options, const platform::Clock& clock,
         nvml::GpuMonitor* monitor, Logger logger);
  Status Open();
  // Adds a watched descriptor or modifies its events, which needs no memory, so it cannot fail.
  bool Watch(int operation, int fd, Source source, std::uint64_t id, std::uint32_t events);
  void HandleEvent(const epoll_event& event);
  void Accept();
  void PauseAccepting();
  bool MayConnect(int socket, const platform::Credentials& peer) const;
  void OnReadable(std::uint64_t id);
  void OnPacket(Connection& connection, const char* packet, std::size_t size);
  void OnFirstMessage(Connection& connection, wire::Type type, const char* packet);
  void OnStopRequest(Connection& connection, const wire::StopRequest& request);
  void OnMpsRequest(const Connection& connection, const wire::MpsRequest& request);
  bool WatchProcess(Connection& connection);
  void Answer(Connection& connection, std::string_view text);
  void Refuse(Connection& connection, wire::RefusedReason reason, const std::string& text);
  void OnProcessEnd(std::uint64_t id);
  void OnOrphanEnd(std::uint64_t id);

  void Send(ClientId client, const void* packet, std::size_t size) override;
  std::uint64_t RequestReadings() override { return reader_ ? reader_->Request() : 0; }
  void Queue(Connection& connection, const void* packet, std::size_t size);
  void Flush(Connection& connection);
  bool SendNow(Connection& connection, const std::string& packet);
  void DropBroken();
  void MakeOrphan(Connection& connection);
  void HandleTimeouts();
  void ArmTimer();
  std::optional<Time> NextDeadline() const;

  const Settings& settings_;
  const ServerOptions options_;
  const platform::Clock& clock_;
  nvml::GpuMonitor* const monitor_;
  const Logger logger_;
  std::optional<GpuReader> reader_;
  UniqueFd lock_;
  UniqueFd listener_;
  UniqueFd epoll_;
  UniqueFd timer_;
  UniqueFd signals_;
  UniqueFd stop_;
  bool stopping_ = false;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Connection> connections_;
  std::map<std::uint64_t, Orphan> orphans_;
  Time idle_since_{0};                    // since when there are no clients
  std::optional<Time> resume_accept_at_;  // set while out of descriptors
  bool accept_error_logged_ = false;
  Core core_;
  std::optional<MpsControls> mps_;  // from Open()
};

}  // namespace reveza::daemon
