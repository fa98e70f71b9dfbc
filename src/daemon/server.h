// The daemon's loop: sockets, processes' ends, timers, signals. One thread.
//
// Everything is bounded: connections, what one may say before it is somebody, what waits to be
// sent to it. Who does not read is dropped, and runs on without us. Who sends what is no message
// is told so and dropped.
// Thread-safety: Stop() from any thread or signal handler; the rest from one thread.
#pragma once

#include <sys/epoll.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/core.h"
#include "platform/process.h"

namespace reveza::daemon {

struct ServerOptions {
  std::filesystem::path socket;
  std::optional<gid_t> group;   // nothing: this user alone
  bool handle_signals = false;  // SIGTERM and SIGINT end the loop
  Bytes host_budget = 0;
  std::size_t most_connections = 1024;
  Time hello_limit = std::chrono::seconds(10);  // to say who one is
  // How long a closed connection may be a process that is just ending.
  Time death_grace = std::chrono::milliseconds(500);
};

class Server : private Outbox {
 public:
  // Takes the lock and the socket. kUnavailable: another daemon has them. All references outlive
  // the server; `monitor` may be null.
  static Result<std::unique_ptr<Server>> Make(const Settings& settings, ServerOptions options,
                                              const platform::Clock& clock,
                                              platform::GpuMonitor* monitor, Logger logger);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Until Stop, a signal, a StopRequest, or nobody came for as long as `linger`.
  Status Run();
  void Stop();

 private:
  // kLeaving: refused. It is read from until it closes, because a socket that is closed with
  // something unread in it takes the refusal with it.
  enum class Role { kUnknown, kClient, kCommandLine, kLeaving };
  struct Connection {
    std::uint64_t id = 0;
    UniqueFd fd;
    UniqueFd process;  // readable when it ends
    platform::Credentials peer;
    Role role = Role::kUnknown;
    Time since{0};
    std::deque<std::string> queue;
    std::string text;  // an answer to the command line
    std::size_t text_sent = 0;
    bool wants_write = false;
    bool broken = false;  // to be dropped once the event is over
  };
  // A process whose connection is gone: dying (until the grace is over), then alone.
  struct Orphan {
    UniqueFd process;
    pid_t pid = 0;
    ClientId client = 0;
    Time since{0};
    bool alone = false;
  };
  enum class Source : std::uint64_t {
    kListener = 1,
    kTimer,
    kSignal,
    kStop,
    kPeer,
    kProcess,
    kOrphan
  };

  Server(const Settings& settings, ServerOptions options, const platform::Clock& clock,
         platform::GpuMonitor* monitor, Logger logger);
  Status Open();
  static epoll_event EventOf(Source source, std::uint64_t id, std::uint32_t events);
  Status Watch(int fd, Source source, std::uint64_t id, std::uint32_t events);
  // Of one that is watched already: this needs no memory, so it cannot fail for want of it.
  void Rewatch(int fd, Source source, std::uint64_t id, std::uint32_t events);
  void Handle(const epoll_event& event);
  void Accept();
  void BeDeaf();
  bool MayConnect(const platform::Credentials& peer) const;
  void OnReadable(std::uint64_t id);
  void OnPacket(Connection& connection, const char* packet, std::size_t size);
  void OnFirst(Connection& connection, wire::Type type, const char* packet);
  void OnStopRequest(Connection& connection, const wire::StopRequest& request);
  bool WatchProcess(Connection& connection);
  void Answer(Connection& connection, std::string text);
  void Refuse(Connection& connection, wire::RefusedReason reason, const std::string& text);
  void OnProcessEnd(std::uint64_t id);
  void OnOrphanEnd(std::uint64_t id);

  void Send(ClientId client, const void* packet, std::size_t size) override;
  void Queue(Connection& connection, const void* packet, std::size_t size);
  void Flush(Connection& connection);
  void FlushText(Connection& connection);
  bool SendNow(Connection& connection, const std::string& packet);
  void DropBroken();
  void MakeOrphan(Connection& connection);
  void Drop(std::uint64_t id);
  void CheckTimes();
  void ArmTimer();
  std::optional<Time> NextTime() const;

  const Settings& settings_;
  const ServerOptions options_;
  const platform::Clock& clock_;
  const Logger logger_;
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
  Time lonely_since_{0};              // since when there are no clients
  std::optional<Time> listen_again_;  // until then there is no descriptor for who knocks
  bool said_deaf_ = false;
  Core core_;
};

}  // namespace reveza::daemon
