// Server: receiving and sending packets.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/platform/process.h"
#include "reveza/gpu/daemon/server.h"

namespace reveza::daemon {
namespace {

constexpr int kMaxPacketsPerRead = 64;  // per connection and wake-up
constexpr std::size_t kMaxQueuedPackets = 4096;
constexpr std::size_t kMaxTextPart = wire::kMaxPacket - wire::kPacketSize<wire::TextHeader>;

}  // namespace

void Server::OnReadable(std::uint64_t id) {
  char packet[wire::kMaxPacket + 1];
  for (int i = 0; i < kMaxPacketsPerRead; ++i) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.broken) return;
    Connection& connection = found->second;
    const ssize_t got = recv(connection.fd.get(), packet, sizeof(packet), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      connection.broken = true;
      return;
    }
    // Ignore further messages of a refused peer.
    if (connection.role == Role::kRefused) continue;
    OnPacket(connection, packet, static_cast<std::size_t>(got));
  }
}

void Server::OnPacket(Connection& connection, const char* packet, std::size_t size) {
  wire::Type type{};
  const auto error = wire::Validate(packet, size, &type);
  if (error == wire::DecodeError::kWrongVersion) {
    return Refuse(connection, wire::RefusedReason::kWrongVersion,
                  fmt::format("protocol mismatch: this daemon speaks versions {} to {}; run: "
                              "reveza stop",
                              wire::kMinVersion, wire::kVersion));
  }
  if (error != wire::DecodeError::kNone) {
    logger_->warn("invalid message from pid {}: {}", connection.peer.pid, wire::ToText(error));
    return Refuse(connection, wire::RefusedReason::kProtocol,
                  fmt::format("invalid message: {}", wire::ToText(error)));
  }
  connection.version = wire::VersionOf(packet);
  if (connection.role != Role::kClient) return OnFirstMessage(connection, type, packet);
  if (!core_.OnMessage(connection.id, type, packet, size)) {
    logger_->warn("unexpected message from pid {}: type {}", connection.peer.pid,
                  static_cast<int>(type));
    Refuse(connection, wire::RefusedReason::kProtocol, "unexpected message");
  }
}

void Server::OnFirstMessage(Connection& connection, wire::Type type, const char* packet) {
  switch (type) {
    case wire::Type::kHello: {
      if (connection.role == Role::kCommandLine) break;
      if (!WatchProcess(connection)) {
        return Refuse(connection, wire::RefusedReason::kFull,
                      "the daemon is out of file descriptors");
      }
      connection.role = Role::kClient;
      Peer peer{connection.peer.pid, connection.peer.uid, connection.version};
      if (!settings_.classes.empty() || !settings_.quotas.empty())
        peer.identity = IdentityOf(peer.pid, peer.uid);
      core_.OnHello(connection.id, peer, wire::View<wire::Hello>(packet));
      return;
    }
    case wire::Type::kStatusRequest:
      connection.role = Role::kCommandLine;
      return Answer(connection, core_.StatusJson(&*mps_));
    case wire::Type::kTraceRequest:
      connection.role = Role::kCommandLine;
      return Answer(connection, core_.TraceJson());
    case wire::Type::kEventsRequest:
      connection.role = Role::kCommandLine;
      return Answer(connection, core_.EventsJson(wire::View<wire::EventsRequest>(packet).since));
    case wire::Type::kJobRequest:
      connection.role = Role::kCommandLine;
      return Answer(connection,
                    core_.OnJobRequest(connection.peer.uid, wire::View<wire::JobRequest>(packet)));
    case wire::Type::kMpsRequest:
      connection.role = Role::kCommandLine;
      return OnMpsRequest(connection, wire::View<wire::MpsRequest>(packet));
    case wire::Type::kStopRequest:
      connection.role = Role::kCommandLine;
      return OnStopRequest(connection, wire::View<wire::StopRequest>(packet));
    default:
      break;
  }
  Refuse(connection, wire::RefusedReason::kProtocol, "unexpected message");
}

// Returns false if out of resources. A process that cannot be opened (in another PID namespace,
// with Linux before 6.5) is watched by its connection only.
bool Server::WatchProcess(Connection& connection) {
  auto process = platform::OpenPeer(connection.fd.get());
  if (!process) return process.error().code != Error::Code::kExhausted;
  connection.process = std::move(*process);
  return Watch(EPOLL_CTL_ADD, connection.process.get(), Source::kProcess, connection.id, EPOLLIN);
}

void Server::OnStopRequest(Connection& connection, const wire::StopRequest& request) {
  const bool allowed = connection.peer.uid == 0 || connection.peer.uid == getuid();
  const bool idle = core_.clients() == 0;
  const bool stops = allowed && (idle || request.force == 1);
  const nlohmann::json answer = {
      {"stops", stops}, {"allowed", allowed}, {"clients", core_.clients()}, {"pid", getpid()}};
  Answer(connection, answer.dump());
  if (stops) {
    logger_->info("stop requested by pid {}", connection.peer.pid);
    stopping_ = true;
  }
}

void Server::OnMpsRequest(const Connection& connection, const wire::MpsRequest& request) {
  const auto& peer = connection.peer;
  mps_->Request({.pid = peer.pid,
                 .user = {peer.uid, peer.gid},
                 .job = request.job,
                 .weight = static_cast<double>(request.weight) / wire::kWeightUnit},
                [this, id = connection.id](const nlohmann::json& answer) {
                  const auto found = connections_.find(id);
                  if (found != connections_.end()) Answer(found->second, answer.dump());
                });
}

// ---- sending ----

void Server::Answer(Connection& connection, std::string_view text) {
  if (!connection.queue.empty()) {  // previous answer not read yet
    connection.broken = true;
    return;
  }
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kMaxTextPart);
    text.remove_prefix(part.size());
    std::string packet(wire::kPacketSize<wire::TextHeader>, '\0');
    wire::Encode(wire::TextHeader{text.empty() ? 1u : 0u, static_cast<std::uint32_t>(part.size())},
                 packet.data(), connection.version);
    connection.queue.push_back(packet.append(part));
  }
  Flush(connection);
}

void Server::Refuse(Connection& connection, wire::RefusedReason reason, const std::string& text) {
  wire::Refused message{};
  message.reason = reason;
  message.version = wire::kVersion;
  wire::CopyText(message.text, sizeof(message.text), text.c_str());
  char packet[wire::kPacketSize<wire::Refused>];
  // Discard the queue and try once: a peer that does not read is dropped anyway.
  connection.queue.clear();
  const std::size_t size = wire::Encode(message, packet, connection.version);
  [[maybe_unused]] const auto sent =
      send(connection.fd.get(), packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  connection.role = Role::kRefused;
  connection.since = clock_.Now();
  MakeOrphan(connection);
}

void Server::Send(ClientId client, const void* packet, std::size_t size) {
  const auto found = connections_.find(client);
  if (found != connections_.end()) Queue(found->second, packet, size);
}

void Server::Queue(Connection& connection, const void* packet, std::size_t size) {
  if (connection.broken || connection.role == Role::kRefused) return;
  std::string bytes(static_cast<const char*>(packet), size);
  if (connection.queue.empty() && SendNow(connection, bytes)) return;
  if (connection.queue.size() >= kMaxQueuedPackets) {
    logger_->warn("send queue of pid {} is full; disconnecting it", connection.peer.pid);
    connection.broken = true;
    return;
  }
  connection.queue.push_back(std::move(bytes));
  if (!connection.wants_write) Flush(connection);
}

// Returns false if the socket would block.
bool Server::SendNow(Connection& connection, const std::string& packet) {
  for (;;) {
    const ssize_t sent = send(connection.fd.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
    if (sent >= 0) return true;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS) return false;
    // The peer has closed; its last messages are still to be read.
    return true;
  }
}

void Server::Flush(Connection& connection) {
  while (!connection.queue.empty() && SendNow(connection, connection.queue.front())) {
    connection.queue.pop_front();
  }
  const bool has_pending = !connection.queue.empty();
  if (has_pending == connection.wants_write) return;
  connection.wants_write = has_pending;
  const auto events = EPOLLIN | (has_pending ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  Watch(EPOLL_CTL_MOD, connection.fd.get(), Source::kPeer, connection.id, events);
}

}  // namespace reveza::daemon
