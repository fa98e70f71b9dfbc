#include "daemon/server.h"

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

#include "platform/process.h"
#include "platform/unix_socket.h"

namespace reveza::daemon {
namespace {

constexpr int kEventsAtOnce = 64;
constexpr std::uint64_t kIdBits = 56;
constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;

std::unexpected<Error> FailWith(const char* what) {
  return Fail(Error::Code::kExhausted, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

}  // namespace

Server::Server(const Settings& settings, ServerOptions options, const platform::Clock& clock,
               platform::GpuMonitor* monitor, Logger logger)
    : settings_(settings),
      options_(std::move(options)),
      clock_(clock),
      logger_(std::move(logger)),
      core_(settings, options_.host_budget, clock, monitor, *this, logger_) {}

Server::~Server() {
  // Only who holds the lock may take the name away.
  if (listener_) unlink(options_.socket.c_str());
}

Result<std::unique_ptr<Server>> Server::Make(const Settings& settings, ServerOptions options,
                                             const platform::Clock& clock,
                                             platform::GpuMonitor* monitor, Logger logger) {
  std::unique_ptr<Server> server(
      new Server(settings, std::move(options), clock, monitor, std::move(logger)));
  if (auto opened = server->Open(); !opened) return std::unexpected(opened.error());
  return server;
}

Status Server::Open() {
  auto lock = platform::LockFile(options_.socket.string() + ".lock");
  if (!lock) return std::unexpected(lock.error());
  lock_ = std::move(*lock);
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  timer_.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  stop_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !timer_ || !stop_) return FailWith("make the event loop");
  if (options_.handle_signals) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_.Reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) return FailWith("take signals");
    if (auto watched = Watch(signals_.get(), Source::kSignal, 0, EPOLLIN); !watched) return watched;
  }
  auto listener = platform::ListenAt(options_.socket, options_.group);
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  for (const auto& [fd, source] :
       {std::pair{listener_.get(), Source::kListener}, std::pair{timer_.get(), Source::kTimer},
        std::pair{stop_.get(), Source::kStop}}) {
    if (auto watched = Watch(fd, source, 0, EPOLLIN); !watched) return watched;
  }
  lonely_since_ = clock_.Now();
  return {};
}

epoll_event Server::EventOf(Source source, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(source) << kIdBits) | id;
  return event;
}

Status Server::Watch(int fd, Source source, std::uint64_t id, std::uint32_t events) {
  epoll_event event = EventOf(source, id, events);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return FailWith("watch a descriptor");
}

void Server::Rewatch(int fd, Source source, std::uint64_t id, std::uint32_t events) {
  epoll_event event = EventOf(source, id, events);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Server::Stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof(one));
}

Status Server::Run() {
  logger_->info("listening at {}", options_.socket.string());
  epoll_event events[kEventsAtOnce];
  while (!stopping_) {
    ArmTimer();
    const int count = epoll_wait(epoll_.get(), events, kEventsAtOnce, -1);
    if (count < 0 && errno != EINTR) return FailWith("wait for events");
    for (int i = 0; i < count; ++i) Handle(events[i]);
    CheckTimes();
    DropBroken();
  }
  // Last words: what was queued goes out as far as it can without waiting.
  for (auto& [id, connection] : connections_) Flush(connection);
  connections_.clear();
  logger_->info("ends");
  return {};
}

void Server::Handle(const epoll_event& event) {
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
  }
}

// ---- those who come and go ----

bool Server::MayConnect(const platform::Credentials& peer) const {
  if (peer.uid == 0 || peer.uid == getuid()) return true;
  if (!options_.group) return false;
  const auto member = platform::IsInGroup(peer.uid, peer.gid, *options_.group);
  if (!member) logger_->warn("{}; so it is turned away", member.error().message);
  return member.value_or(false);
}

void Server::Accept() {
  for (int i = 0; i < kEventsAtOnce; ++i) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (!fd && errno == ECONNABORTED) continue;
    if (!fd) return BeDeaf();
    const auto peer = platform::PeerCredentials(fd.get());
    if (!peer) continue;
    const std::uint64_t id = next_id_++;
    Connection& connection = connections_[id];
    connection.id = id;
    connection.fd = std::move(fd);
    connection.peer = *peer;
    connection.since = clock_.Now();
    if (!Watch(connection.fd.get(), Source::kPeer, id, EPOLLIN)) {
      connections_.erase(id);
      continue;
    }
    if (!MayConnect(*peer)) {
      logger_->warn("refused user {} (pid {})", peer->uid, peer->pid);
      Refuse(connection, wire::RefusedReason::kUser, "this daemon belongs to another user");
    } else if (connections_.size() > options_.most_connections) {
      Refuse(connection, wire::RefusedReason::kFull,
             fmt::format("{} connections are open already", options_.most_connections));
    }
  }
}

// Whoever knocks and cannot be let in now would wake us again and again.
void Server::BeDeaf() {
  constexpr auto kPause = std::chrono::milliseconds(100);
  if (!std::exchange(said_deaf_, true)) {
    logger_->warn("cannot let programs in: {}; they wait until others have ended",
                  std::strerror(errno));
  }
  Rewatch(listener_.get(), Source::kListener, 0, 0);
  listen_again_ = clock_.Now() + kPause;
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
  if (found->second.alone) {
    core_.OnLoneDeath(found->second.pid);
  } else {
    core_.OnDeath(found->second.client);
  }
  orphans_.erase(found);
}

// A client that we no longer talk to. If its process still lives after a grace, it runs on alone.
void Server::MakeOrphan(Connection& connection) {
  const std::uint64_t id = connection.id;
  if (!core_.HasClient(id)) return;
  if (!connection.process) return core_.OnDeath(id);
  Rewatch(connection.process.get(), Source::kOrphan, id, EPOLLIN);
  orphans_[id] =
      Orphan{std::move(connection.process), connection.peer.pid, id, clock_.Now(), false};
}

void Server::Drop(std::uint64_t id) {
  const auto found = connections_.find(id);
  Connection connection = std::move(found->second);
  connections_.erase(found);
  MakeOrphan(connection);
}

void Server::DropBroken() {
  for (;;) {
    const auto broken =
        std::ranges::find_if(connections_, [](const auto& entry) { return entry.second.broken; });
    if (broken == connections_.end()) return;
    Drop(broken->first);
  }
}

// ---- time ----

void Server::CheckTimes() {
  const Time now = clock_.Now();
  if (listen_again_ && *listen_again_ <= now) {
    listen_again_.reset();
    Rewatch(listener_.get(), Source::kListener, 0, EPOLLIN);
  }
  for (auto& [id, connection] : connections_) {
    if ((connection.role == Role::kUnknown || connection.role == Role::kLeaving) &&
        now - connection.since >= options_.hello_limit) {
      connection.broken = true;
    }
  }
  for (auto& [id, orphan] : orphans_) {
    if (orphan.alone || now - orphan.since < options_.death_grace) continue;
    orphan.alone = true;
    core_.OnLost(id);
  }
  // A process that came back is watched as a client again.
  std::erase_if(orphans_, [&](const auto& entry) {
    return entry.second.alone && !core_.lone().contains(entry.second.pid);
  });
  if (const auto due = core_.NextWakeup(); due && *due <= now) core_.Tick();
  if (core_.clients() + core_.lone().size() != 0) {
    lonely_since_ = now;
  } else if (now - lonely_since_ >= settings_.linger) {
    logger_->info("nobody came for {} s", settings_.linger / std::chrono::seconds(1));
    stopping_ = true;
  }
}

std::optional<Time> Server::NextTime() const {
  std::optional<Time> next = core_.NextWakeup();
  const auto consider = [&next](Time time) { next = next ? std::min(*next, time) : time; };
  if (listen_again_) consider(*listen_again_);
  for (const auto& [id, connection] : connections_) {
    if (connection.role == Role::kUnknown || connection.role == Role::kLeaving) {
      consider(connection.since + options_.hello_limit);
    }
  }
  for (const auto& [id, orphan] : orphans_) {
    if (!orphan.alone) consider(orphan.since + options_.death_grace);
  }
  if (core_.clients() + core_.lone().size() == 0) consider(lonely_since_ + settings_.linger);
  return next;
}

void Server::ArmTimer() {
  itimerspec when{};
  if (const auto next = NextTime()) {
    // Relative, so that any clock may be ours; 0 would disarm.
    const Time left = std::max<Time>(*next - clock_.Now(), std::chrono::microseconds(100));
    when.it_value.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1));
    when.it_value.tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count());
  }
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace reveza::daemon
