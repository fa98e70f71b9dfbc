#include "reveza/gpu/daemon/server.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/platform/process.h"
#include "common/platform/unix_socket.h"

namespace reveza::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxEpollEvents = 64;
// A system-wide daemon may linger for ever; MPS without programs need not.
constexpr Time kMaxMpsLinger = std::chrono::minutes(1);
constexpr std::uint64_t kIdBits = 56;
constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;

std::unexpected<Error> SystemError(const char* what) {
  return Fail(Error::Code::kExhausted, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

}  // namespace

Server::Server(const Settings& settings, ServerOptions options, const platform::Clock& clock,
               nvml::GpuMonitor* monitor, Logger logger)
    : settings_(settings),
      options_(std::move(options)),
      clock_(clock),
      monitor_(monitor),
      logger_(std::move(logger)),
      core_(settings, options_.host_budget, clock, options_.usage, *this, logger_) {}

Server::~Server() {
  // Only the lock holder may unlink the socket.
  if (listener_) unlink(options_.socket.c_str());
}

Result<std::unique_ptr<Server>> Server::Make(const Settings& settings, ServerOptions options,
                                             const platform::Clock& clock,
                                             nvml::GpuMonitor* monitor, Logger logger) {
  std::unique_ptr<Server> server(
      new Server(settings, std::move(options), clock, monitor, std::move(logger)));
  RETURN_IF_ERROR(server->Open());
  return server;
}

Status Server::Open() {
  ASSIGN_OR_RETURN(auto lock, platform::LockFile(options_.socket.string() + ".lock"));
  lock_ = std::move(lock);
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  timer_.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  stop_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !timer_ || !stop_) return SystemError("create the event loop");
  if (options_.handle_signals) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_.Reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_ || !Watch(EPOLL_CTL_ADD, signals_.get(), Source::kSignal, 0, EPOLLIN)) {
      return SystemError("create a signalfd");
    }
  }
  ASSIGN_OR_RETURN(auto listener, platform::ListenAt(options_.socket, options_.group));
  listener_ = std::move(listener);
  mps_.emplace(
      MpsControls::Options{.folder = fs::absolute(options_.socket).parent_path(),
                           .linger = std::min<Time>(settings_.linger, kMaxMpsLinger),
                           .limit = options_.mps_limit,
                           .has_clients = [this](JobId job) { return core_.HasClientsOf(job); }},
      clock_, logger_);
  for (const auto& [fd, source] :
       {std::pair{listener_.get(), Source::kListener}, std::pair{timer_.get(), Source::kTimer},
        std::pair{stop_.get(), Source::kStop}, std::pair{mps_->fd(), Source::kMps}}) {
    if (!Watch(EPOLL_CTL_ADD, fd, source, 0, EPOLLIN)) {
      return SystemError("add a descriptor to epoll");
    }
  }
  // After the signals are blocked, which its thread inherits.
  if (monitor_ != nullptr) {
    reader_.emplace(*monitor_);
    if (!Watch(EPOLL_CTL_ADD, reader_->fd(), Source::kReadings, 0, EPOLLIN)) {
      return SystemError("add a descriptor to epoll");
    }
  }
  idle_since_ = clock_.Now();
  return {};
}

bool Server::Watch(int operation, int fd, Source source, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(source) << kIdBits) | id;
  return epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

void Server::Stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof(one));
}

Status Server::Run() {
  logger_->info("listening at {}", options_.socket.string());
  epoll_event events[kMaxEpollEvents];
  while (!stopping_) {
    ArmTimer();
    const int count = epoll_wait(epoll_.get(), events, kMaxEpollEvents, -1);
    if (count < 0 && errno != EINTR) return SystemError("wait for events");
    for (int i = 0; i < count; ++i) HandleEvent(events[i]);
    HandleTimeouts();
    DropBroken();
  }
  mps_->Shutdown();
  core_.ReportUsage();
  // Flush queued messages as far as possible without blocking.
  for (auto& [id, connection] : connections_) Flush(connection);
  connections_.clear();
  logger_->info("stopped");
  return {};
}

void Server::HandleEvent(const epoll_event& event) {
  const auto source = static_cast<Source>(event.data.u64 >> kIdBits);
  const std::uint64_t id = event.data.u64 & kIdMask;
  switch (source) {
    case Source::kListener:
      Accept();
      break;
    case Source::kTimer: {
      std::uint64_t ticks = 0;
      [[maybe_unused]] const auto got = read(timer_.get(), &ticks, sizeof(ticks));
      break;
    }
    case Source::kSignal:
    case Source::kStop:
      stopping_ = true;
      break;
    case Source::kMps:
      break;  // HandleTimeouts() looks
    case Source::kPeer: {
      const auto found = connections_.find(id);
      if (found == connections_.end()) break;
      if ((event.events & EPOLLOUT) != 0) Flush(found->second);
      if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) OnReadable(id);
      break;
    }
    case Source::kProcess:
      OnProcessEnd(id);
      break;
    case Source::kOrphan:
      OnOrphanEnd(id);
      break;
    case Source::kReadings:
      if (const auto readings = reader_->Take()) core_.OnReadings(*readings);
      break;
  }
}

// ---- connections ----

bool Server::MayConnect(int socket, const platform::Credentials& peer) const {
  if (peer.uid == 0 || peer.uid == getuid()) return true;
  if (!options_.group) return false;
  if (platform::PeerIsInGroup(socket, *options_.group)) return true;
  const auto member = platform::IsInGroup(peer.uid, peer.gid, *options_.group);
  if (!member) logger_->warn("{}; connection refused", member.error().message);
  return member.value_or(false);
}

void Server::Accept() {
  for (int i = 0; i < kMaxEpollEvents; ++i) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (!fd && errno == ECONNABORTED) continue;
    if (!fd) return PauseAccepting();
    const auto peer = platform::PeerCredentials(fd.get());
    if (!peer) continue;
    const std::uint64_t id = next_id_++;
    Connection& connection = connections_[id];
    connection.id = id;
    connection.fd = std::move(fd);
    connection.peer = *peer;
    connection.since = clock_.Now();
    if (!Watch(EPOLL_CTL_ADD, connection.fd.get(), Source::kPeer, id, EPOLLIN)) {
      connections_.erase(id);
      continue;
    }
    if (!MayConnect(connection.fd.get(), *peer)) {
      logger_->warn("refused user {} (pid {})", peer->uid, peer->pid);
      Refuse(connection, wire::RefusedReason::kUser, "this daemon belongs to another user");
    } else if (connections_.size() > options_.max_connections) {
      Refuse(connection, wire::RefusedReason::kFull,
             fmt::format("too many connections (maximum {})", options_.max_connections));
    }
  }
}

// Pauses accepting for a moment: a pending connection that cannot be accepted would wake the loop
// permanently.
void Server::PauseAccepting() {
  constexpr auto kPause = std::chrono::milliseconds(100);
  if (!std::exchange(accept_error_logged_, true)) {
    logger_->warn("cannot accept connections: {}; new clients wait until others exit",
                  std::strerror(errno));
  }
  Watch(EPOLL_CTL_MOD, listener_.get(), Source::kListener, 0, 0);
  resume_accept_at_ = clock_.Now() + kPause;
}

void Server::OnProcessEnd(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  core_.OnDeath(id);
  connections_.erase(found);
}

void Server::OnOrphanEnd(std::uint64_t id) {
  const auto found = orphans_.find(id);
  if (found == orphans_.end()) return;
  if (found->second.detached) {
    core_.OnDetachedDeath(found->second.pid);
  } else {
    core_.OnDeath(id);
  }
  orphans_.erase(found);
}

// Keeps track of a disconnected client's process, which becomes detached after death_grace.
void Server::MakeOrphan(Connection& connection) {
  const std::uint64_t id = connection.id;
  if (!core_.HasClient(id)) return;
  if (!connection.process) return core_.OnDeath(id);
  Watch(EPOLL_CTL_MOD, connection.process.get(), Source::kOrphan, id, EPOLLIN);
  orphans_[id] = Orphan{std::move(connection.process), connection.peer.pid, clock_.Now(), false};
}

void Server::DropBroken() {
  for (;;) {
    const auto broken =
        std::ranges::find_if(connections_, [](const auto& entry) { return entry.second.broken; });
    if (broken == connections_.end()) return;
    Connection connection = std::move(broken->second);
    connections_.erase(broken);
    MakeOrphan(connection);
  }
}

// ---- timers ----

void Server::HandleTimeouts() {
  const Time now = clock_.Now();
  if (resume_accept_at_ && *resume_accept_at_ <= now) {
    resume_accept_at_.reset();
    Watch(EPOLL_CTL_MOD, listener_.get(), Source::kListener, 0, EPOLLIN);
  }
  for (auto& [id, connection] : connections_) {
    if ((connection.role == Role::kUnknown || connection.role == Role::kRefused) &&
        now - connection.since >= options_.hello_timeout) {
      connection.broken = true;
    }
  }
  for (auto& [id, orphan] : orphans_) {
    if (orphan.detached || now - orphan.since < options_.death_grace) continue;
    orphan.detached = true;
    core_.OnDisconnected(id);
  }
  // A process that reconnected is watched as a client again.
  std::erase_if(orphans_, [&](const auto& entry) {
    return entry.second.detached && !core_.detached().contains(entry.second.pid);
  });
  if (const auto due = core_.NextWakeup(); due && *due <= now) core_.Tick();
  mps_->Tick();
  if (core_.clients() + core_.detached().size() != 0 || mps_->InUse()) {
    idle_since_ = now;
  } else if (now - idle_since_ >= settings_.linger) {
    logger_->info("no clients for {} s, exiting", settings_.linger / std::chrono::seconds(1));
    stopping_ = true;
  }
}

std::optional<Time> Server::NextDeadline() const {
  std::optional<Time> next = core_.NextWakeup();
  const auto consider = [&next](Time time) { next = next ? std::min(*next, time) : time; };
  if (resume_accept_at_) consider(*resume_accept_at_);
  for (const auto& [id, connection] : connections_) {
    if (connection.role == Role::kUnknown || connection.role == Role::kRefused) {
      consider(connection.since + options_.hello_timeout);
    }
  }
  for (const auto& [id, orphan] : orphans_) {
    if (!orphan.detached) consider(orphan.since + options_.death_grace);
  }
  if (const auto due = mps_->NextDeadline()) consider(*due);
  if (core_.clients() + core_.detached().size() == 0 && !mps_->InUse())
    consider(idle_since_ + settings_.linger);
  return next;
}

void Server::ArmTimer() {
  itimerspec when{};
  if (const auto next = NextDeadline()) {
    // Relative, so that any clock works; 0 would disarm the timer.
    const Time left = std::max<Time>(*next - clock_.Now(), std::chrono::microseconds(100));
    when.it_value.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1));
    when.it_value.tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count());
  }
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace reveza::daemon
