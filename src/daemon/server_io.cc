// Packets in and out.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/server.h"
#include "platform/process.h"

namespace reveza::daemon {
namespace {

constexpr int kPacketsAtOnce = 64;  // of one connection, then others have their turn
constexpr std::size_t kMostQueued = 4096;
constexpr std::size_t kTextPart = wire::kMaxPacket - wire::kPacketSize<wire::TextHeader>;

}  // namespace

void Server::OnReadable(std::uint64_t id) {
  char packet[wire::kMaxPacket + 1];
  for (int i = 0; i < kPacketsAtOnce; ++i) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.broken) return;
    Connection& connection = found->second;
    const ssize_t got = recv(connection.fd.get(), packet, sizeof(packet), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      connection.broken = true;
      return;
    }
    // Who has been refused is no longer listened to.
    if (connection.role == Role::kLeaving) continue;
    OnPacket(connection, packet, static_cast<std::size_t>(got));
  }
}

void Server::OnPacket(Connection& connection, const char* packet, std::size_t size) {
  wire::Type type{};
  const auto error = wire::Validate(packet, size, &type);
  if (error == wire::DecodeError::kWrongVersion) {
    return Refuse(
        connection, wire::RefusedReason::kWrongVersion,
        fmt::format("this daemon speaks version {} only; run: reveza stop", wire::kVersion));
  }
  if (error != wire::DecodeError::kNone) {
    logger_->warn("pid {} sent nonsense: {}", connection.peer.pid, wire::ToText(error));
    return Refuse(connection, wire::RefusedReason::kProtocol,
                  fmt::format("that was no message: {}", wire::ToText(error)));
  }
  if (connection.role != Role::kClient) return OnFirst(connection, type, packet);
  if (!core_.OnMessage(connection.id, type, packet)) {
    logger_->warn("pid {} sent message {} out of place", connection.peer.pid,
                  static_cast<int>(type));
    Refuse(connection, wire::RefusedReason::kProtocol, "that message was out of place");
  }
}

void Server::OnFirst(Connection& connection, wire::Type type, const char* packet) {
  switch (type) {
    case wire::Type::kHello: {
      if (connection.role == Role::kCommandLine) break;
      if (!WatchProcess(connection)) {
        return Refuse(connection, wire::RefusedReason::kFull,
                      "the daemon has no descriptor left to watch this process with");
      }
      connection.role = Role::kClient;
      core_.OnHello(connection.id, Peer{connection.peer.pid, connection.peer.uid},
                    wire::View<wire::Hello>(packet));
      return;
    }
    case wire::Type::kStatusRequest:
      connection.role = Role::kCommandLine;
      return Answer(connection, core_.StatusJson());
    case wire::Type::kTraceRequest:
      connection.role = Role::kCommandLine;
      return Answer(connection, core_.TraceJson());
    case wire::Type::kStopRequest:
      connection.role = Role::kCommandLine;
      return OnStopRequest(connection, wire::View<wire::StopRequest>(packet));
    default:
      break;
  }
  Refuse(connection, wire::RefusedReason::kProtocol, "that message was out of place");
}

// False where there is no room for that now. Whoever cannot be watched at all (in a process
// namespace that we do not see) is watched by its connection alone.
bool Server::WatchProcess(Connection& connection) {
  auto process = platform::OpenProcess(connection.peer.pid);
  if (!process) return process.error().code != Error::Code::kExhausted;
  connection.process = std::move(*process);
  return Watch(connection.process.get(), Source::kProcess, connection.id, EPOLLIN).has_value();
}

void Server::OnStopRequest(Connection& connection, const wire::StopRequest& request) {
  const bool allowed = connection.peer.uid == 0 || connection.peer.uid == getuid();
  const bool idle = core_.clients() == 0;
  const bool stops = allowed && (idle || request.force == 1);
  const nlohmann::json answer = {
      {"stops", stops}, {"allowed", allowed}, {"clients", core_.clients()}, {"pid", getpid()}};
  Answer(connection, answer.dump());
  if (stops) {
    logger_->info("asked to stop by pid {}", connection.peer.pid);
    stopping_ = true;
  }
}

// ---- out ----

void Server::Answer(Connection& connection, std::string text) {
  if (!connection.text.empty()) {  // it did not wait for the answer before
    connection.broken = true;
    return;
  }
  connection.text = std::move(text);
  connection.text_sent = 0;
  Flush(connection);
}

void Server::Refuse(Connection& connection, wire::RefusedReason reason, const std::string& text) {
  wire::Refused message{};
  message.reason = reason;
  message.version = wire::kVersion;
  wire::CopyText(message.text, sizeof(message.text), text.c_str());
  char packet[wire::kPacketSize<wire::Refused>];
  // What was queued for it no longer matters. One try: who does not take it is dropped anyway.
  connection.queue.clear();
  const std::size_t size = wire::Encode(message, packet);
  [[maybe_unused]] const auto sent =
      send(connection.fd.get(), packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  connection.role = Role::kLeaving;
  connection.since = clock_.Now();
  MakeOrphan(connection);
}

void Server::Send(ClientId client, const void* packet, std::size_t size) {
  const auto found = connections_.find(client);
  if (found != connections_.end()) Queue(found->second, packet, size);
}

void Server::Queue(Connection& connection, const void* packet, std::size_t size) {
  if (connection.broken || connection.role == Role::kLeaving) return;
  std::string bytes(static_cast<const char*>(packet), size);
  if (connection.queue.empty() && SendNow(connection, bytes)) return;
  if (connection.queue.size() >= kMostQueued) {
    logger_->warn("pid {} does not read; it runs on without us", connection.peer.pid);
    connection.broken = true;
    return;
  }
  connection.queue.push_back(std::move(bytes));
  if (!connection.wants_write) Flush(connection);
}

// true: sent, or never to be sent.
bool Server::SendNow(Connection& connection, const std::string& packet) {
  for (;;) {
    const ssize_t sent = send(connection.fd.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
    if (sent >= 0) return true;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS) return false;
    // Gone. What it said before it went is still to be read.
    return true;
  }
}

void Server::FlushText(Connection& connection) {
  while (!connection.text.empty()) {
    const std::size_t part = std::min(kTextPart, connection.text.size() - connection.text_sent);
    const bool last = connection.text_sent + part == connection.text.size();
    std::string packet(wire::kPacketSize<wire::TextHeader>, '\0');
    wire::Encode(wire::TextHeader{last ? 1u : 0u, static_cast<std::uint32_t>(part)}, packet.data());
    packet.append(connection.text, connection.text_sent, part);
    if (!SendNow(connection, packet)) return;
    connection.text_sent += part;
    if (last) connection.text.clear();
  }
}

void Server::Flush(Connection& connection) {
  while (!connection.queue.empty() && SendNow(connection, connection.queue.front())) {
    connection.queue.pop_front();
  }
  if (connection.queue.empty()) FlushText(connection);
  const bool wants = !connection.queue.empty() || !connection.text.empty();
  if (wants == connection.wants_write) return;
  connection.wants_write = wants;
  epoll_event event{};
  event.events = EPOLLIN | (wants ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  event.data.u64 = (static_cast<std::uint64_t>(Source::kPeer) << 56) | connection.id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd.get(), &event);
}

}  // namespace reveza::daemon
