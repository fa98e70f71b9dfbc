#include "runner/engine/control.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/system_error.h"
#include "platform/runtime_paths.h"

namespace reveza::runner {
namespace {

constexpr int kLongestAnswer = 30;  // seconds: a runner may wait for its disk

std::optional<sockaddr_un> AddressOf(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof(address.sun_path)) return std::nullopt;
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

std::unexpected<Error> FailWith(const char* what, const std::filesystem::path& path) {
  return Fail(Error::Code::kPermission,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

std::string Dump(const nlohmann::json& json) {
  // Output of programs may be in it, in whatever encoding.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::filesystem::path ControlSocket(const std::string& id) {
  return platform::UserSocket(platform::ProcessEnvironment, getuid()).parent_path() / "jobs" /
         (id + ".sock");
}

Result<Control> Control::Listen(const std::filesystem::path& path, Answer answer) {
  const auto address = AddressOf(path);
  if (!address) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{} is too long for a socket; a shorter name for the job would do",
                            path.string()));
  }
  if (auto made = platform::PrepareSocketFolder(path.parent_path(), getuid()); !made) {
    return std::unexpected(made.error());
  }
  if (auto made = platform::PrepareSocketFolder(path, getuid()); !made) {
    return std::unexpected(made.error());
  }
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return FailWith("make a socket for", path);
  // The lock of the job is held: whoever listened here is gone.
  unlink(path.c_str());
  const mode_t mask = umask(0177);
  const int bound =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(sockaddr_un));
  umask(mask);
  if (bound != 0 || listen(listener.get(), SOMAXCONN) != 0) return FailWith("listen at", path);
  return Control(std::move(listener), path, std::move(answer));
}

Control::~Control() {
  if (listener_) unlink(path_.c_str());
}

void Control::AddTo(std::vector<pollfd>& descriptors) {
  // Who knocks and cannot be let in would wake us again and again.
  const bool deaf = std::exchange(deaf_, false);
  descriptors.push_back({listener_.get(), static_cast<short>(deaf ? 0 : POLLIN), 0});
  for (const auto& client : clients_) {
    const short events = client.unsent.empty() ? POLLIN : POLLOUT;
    descriptors.push_back({client.socket.get(), events, 0});
  }
}

void Control::Handle(const pollfd* first) {
  const bool knocked = first->revents != 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const bool stays = first[1 + i].revents == 0 || Serve(clients_[i]);
    if (!stays) continue;
    if (kept != i) clients_[kept] = std::move(clients_[i]);
    ++kept;
  }
  clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(kept), clients_.end());
  if (knocked) Accept();
}

void Control::Accept() {
  for (;;) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      deaf_ = errno != EAGAIN && errno != EINTR;
      return;
    }
    if (clients_.size() < kMostClients) clients_.push_back({std::move(socket), {}, {}});
  }
}

bool Control::Serve(Client& client) {
  char bytes[4096];
  for (;;) {
    const ssize_t size = recv(client.socket.get(), bytes, sizeof(bytes), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (size <= 0) return false;
    client.read.append(bytes, static_cast<std::size_t>(size));
    if (client.read.size() > kLongestRequest) return false;
  }
  for (std::size_t end = 0; (end = client.read.find('\n')) != std::string::npos;) {
    const auto request = nlohmann::json::parse(
        client.read.begin(), client.read.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
        false);
    client.read.erase(0, end + 1);
    client.unsent += Dump(
        request.is_object() ? answer_(request)
                            : nlohmann::json{{"error", "a request is a JSON object in one line"}});
  }
  while (!client.unsent.empty()) {
    const ssize_t sent =
        send(client.socket.get(), client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (sent <= 0) return false;
    client.unsent.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

Result<nlohmann::json> AskRunner(const std::string& id, const nlohmann::json& request) {
  const auto path = ControlSocket(id);
  const auto none = [&] {
    return Fail(Error::Code::kUnavailable, fmt::format("no runner works on job '{}'", id));
  };
  const auto address = AddressOf(path);
  if (!address) return none();
  const auto failed = [&](int error) {
    return std::unexpected(
        SystemError(fmt::format("cannot ask the runner of job '{}'", id), error));
  };
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return failed(errno);
  const timeval limit{kLongestAnswer, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(sockaddr_un)) !=
      0) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ECONNREFUSED) return none();
    return failed(errno);
  }
  const std::string line = Dump(request);
  if (send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return none();
  }
  std::string answer;
  char bytes[65536];
  while (!answer.ends_with('\n')) {
    const ssize_t size = recv(socket.get(), bytes, sizeof(bytes), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      return Fail(
          Error::Code::kInternal,
          fmt::format("the runner of job '{}' has not answered for {} s; what it was told it "
                      "may still do",
                      id, kLongestAnswer));
    }
    if (size <= 0) return none();
    answer.append(bytes, static_cast<std::size_t>(size));
  }
  auto json = nlohmann::json::parse(answer, nullptr, false);
  if (json.is_discarded()) {
    return Fail(Error::Code::kIncompatible, "the runner's answer is not understood");
  }
  return json;
}

}  // namespace reveza::runner
