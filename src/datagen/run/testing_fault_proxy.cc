#include "datagen/run/testing_fault_proxy.h"

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

namespace reveza::datagen {
namespace {

constexpr int kLookAroundMs = 50;

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

// The other side sees a reset, not an end.
void Reset(int file) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(file, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

std::string_view FirstLine(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  return line.ends_with(" HTTP/1.1") ? line : std::string_view();
}

}  // namespace

struct FaultProxy::Conversation {
  UniqueFd client;
  UniqueFd server;
  std::optional<Fault> fault = std::nullopt;
  uint64_t passed = 0;  // of the request
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
  ended_ = true;
  acceptor_.join();
  for (std::thread& conversation : conversations_) conversation.join();
}

std::string FaultProxy::endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

void FaultProxy::Add(Fault fault) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back(std::move(fault));
}

int FaultProxy::left() const {
  const std::scoped_lock lock(mutex_);
  int left = 0;
  for (const Fault& fault : faults_) left += fault.times;
  return left;
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
  while (!ended_) {
    pollfd waiting = {.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kLookAroundMs) <= 0) continue;
    UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    if (down_) {
      Reset(client.get());
      continue;
    }
    conversations_.emplace_back(
        [this, file = std::move(client)]() mutable { Relay(std::move(file)); });
  }
}

void FaultProxy::Relay(UniqueFd client) {
  Conversation conversation{.client = std::move(client), .server = ConnectTo(socket_)};
  if (!conversation.server) return Reset(conversation.client.get());
  while (!ended_) {
    if (down_) return Reset(conversation.client.get());
    std::array<pollfd, 2> waiting = {
        pollfd{.fd = conversation.client.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = conversation.server.get(), .events = POLLIN, .revents = 0}};
    const bool silent = conversation.fault && conversation.fault->kind == Fault::Kind::kSilence;
    if (silent) {
      waiting[0].events = 0;
      waiting[1].fd = -1;  // that the server is done shows nothing to the client either
    }
    if (poll(waiting.data(), waiting.size(), kLookAroundMs) <= 0) continue;
    if (silent) return;  // the client has had enough
    if (waiting[1].revents != 0 && !PassAnswer(conversation)) return;
    if (waiting[0].revents != 0 && !PassRequest(conversation)) return;
  }
}

// A new request: what shall happen to it.
void FaultProxy::Begin(Conversation& conversation, std::string_view line) {
  const std::scoped_lock lock(mutex_);
  requests_.emplace_back(line);
  conversation.fault.reset();
  conversation.passed = 0;
  for (Fault& fault : faults_) {
    if (fault.times == 0 || !line.contains(fault.request)) continue;
    --fault.times;
    conversation.fault = fault;
    return;
  }
}

bool FaultProxy::PassRequest(Conversation& conversation) {
  std::array<char, 64 << 10>& buffer = conversation.buffer;
  const ssize_t got = recv(conversation.client.get(), buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (const std::string_view line = FirstLine(bytes); !line.empty()) Begin(conversation, line);
  const bool cut = conversation.fault && conversation.fault->kind == Fault::Kind::kCut &&
                   conversation.passed + bytes.size() >= conversation.fault->after;
  if (cut) bytes = bytes.substr(0, conversation.fault->after - conversation.passed);
  conversation.passed += bytes.size();
  if (!SendAll(conversation.server.get(), bytes)) return false;
  if (cut) Reset(conversation.client.get());
  if (const uint64_t rate = rate_; rate > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(bytes.size() * 1'000'000 / rate));
  }
  return !cut;
}

bool FaultProxy::PassAnswer(Conversation& conversation) {
  std::array<char, 64 << 10>& buffer = conversation.buffer;
  const ssize_t got = recv(conversation.server.get(), buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  // Leave to send the rest of a request is no answer to it.
  const bool answer = !bytes.starts_with("HTTP/1.1 100 ");
  if (answer && conversation.fault && conversation.fault->kind == Fault::Kind::kLoseAnswer) {
    Reset(conversation.client.get());
    return false;
  }
  return SendAll(conversation.client.get(), bytes);
}

}  // namespace reveza::datagen
