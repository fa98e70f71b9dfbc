#include "fraudgen/run/testing_fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace reveza::fraudgen {
namespace {

constexpr int kPollIntervalMs = 50;

void Require(bool good) {
  if (!good) std::abort();
}

UniqueFd ConnectTo(const std::string& path) {
  UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  Require(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return {};
  return server;
}

bool SendAll(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Closes the connection with RST instead of FIN.
void Reset(int file) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(file, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

std::string_view FirstLine(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  return line.ends_with(" HTTP/1.1") ? line : std::string_view();
}

}  // namespace

struct FaultProxy::Connection {
  UniqueFd client;
  UniqueFd server;
  std::optional<Fault> fault = std::nullopt;
  uint64_t passed = 0;  // bytes of the request
  std::array<char, 64 << 10> buffer = {};
};

FaultProxy::FaultProxy(std::string socket)
    : socket_(std::move(socket)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  Require(bind(listener_.get(), where, size) == 0 && listen(listener_.get(), 64) == 0 &&
          getsockname(listener_.get(), where, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

FaultProxy::~FaultProxy() {
  stopping_ = true;
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
}

std::string FaultProxy::endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

void FaultProxy::Add(Fault fault) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back(std::move(fault));
}

int FaultProxy::pending() const {
  const std::scoped_lock lock(mutex_);
  int pending = 0;
  for (const Fault& fault : faults_) pending += fault.times;
  return pending;
}

std::vector<std::string> FaultProxy::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

int FaultProxy::CountOf(std::string_view part) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(std::ranges::count_if(
      requests_, [&](const std::string& line) { return line.contains(part); }));
}

void FaultProxy::Accept() {
  while (!stopping_) {
    pollfd waiting = {.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kPollIntervalMs) <= 0) continue;
    UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    if (down_) {
      Reset(client.get());
      continue;
    }
    connections_.emplace_back(
        [this, file = std::move(client)]() mutable { Relay(std::move(file)); });
  }
}

void FaultProxy::Relay(UniqueFd client) {
  Connection connection{.client = std::move(client), .server = ConnectTo(socket_)};
  if (!connection.server) return Reset(connection.client.get());
  while (!stopping_) {
    if (down_) return Reset(connection.client.get());
    std::array<pollfd, 2> waiting = {
        pollfd{.fd = connection.client.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = connection.server.get(), .events = POLLIN, .revents = 0}};
    const bool silent = connection.fault && connection.fault->kind == Fault::Kind::kStall;
    if (silent) {
      waiting[0].events = 0;
      waiting[1].fd = -1;  // hides the server's close from the client too
    }
    if (poll(waiting.data(), waiting.size(), kPollIntervalMs) <= 0) continue;
    if (silent) return;  // the client closed the connection
    if (waiting[1].revents != 0 && !ForwardResponse(connection)) return;
    if (waiting[0].revents != 0 && !ForwardRequest(connection)) return;
  }
}

// Starts a request and selects its fault.
void FaultProxy::Begin(Connection& connection, std::string_view line) {
  const std::scoped_lock lock(mutex_);
  requests_.emplace_back(line);
  connection.fault.reset();
  connection.passed = 0;
  for (Fault& fault : faults_) {
    if (fault.times == 0 || !line.contains(fault.request)) continue;
    --fault.times;
    connection.fault = fault;
    return;
  }
}

bool FaultProxy::ForwardRequest(Connection& connection) {
  std::array<char, 64 << 10>& buffer = connection.buffer;
  const ssize_t got = recv(connection.client.get(), buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (const std::string_view line = FirstLine(bytes); !line.empty()) Begin(connection, line);
  const bool cut = connection.fault && connection.fault->kind == Fault::Kind::kReset &&
                   connection.passed + bytes.size() >= connection.fault->after;
  if (cut) bytes = bytes.substr(0, connection.fault->after - connection.passed);
  connection.passed += bytes.size();
  if (!SendAll(connection.server.get(), bytes)) return false;
  if (cut) Reset(connection.client.get());
  if (const uint64_t rate = rate_; rate > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(bytes.size() * 1'000'000 / rate));
  }
  return !cut;
}

bool FaultProxy::ForwardResponse(Connection& connection) {
  std::array<char, 64 << 10>& buffer = connection.buffer;
  const ssize_t got = recv(connection.server.get(), buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  // 100 Continue is not the final response.
  const bool response = !bytes.starts_with("HTTP/1.1 100 ");
  if (response && connection.fault && connection.fault->kind == Fault::Kind::kLoseResponse) {
    Reset(connection.client.get());
    return false;
  }
  return SendAll(connection.client.get(), bytes);
}

}  // namespace reveza::fraudgen
