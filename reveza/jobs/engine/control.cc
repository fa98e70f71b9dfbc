#include "reveza/jobs/engine/control.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "common/base/json_text.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/unix_socket.h"

namespace reveza::jobs {
namespace {

constexpr int kAnswerTimeoutSeconds = 30;  // a runner may be waiting for its disk

}  // namespace

std::filesystem::path ControlSocket(const std::string& id) {
  return platform::UserSocket(platform::ProcessEnvironment, getuid()).parent_path() / "jobs" /
         (id + ".sock");
}

Result<ControlServer> ControlServer::Listen(const std::filesystem::path& path, Handler handler) {
  RETURN_IF_ERROR(platform::PrepareSocketFolder(path.parent_path(), getuid()));
  RETURN_IF_ERROR(platform::PrepareSocketFolder(path, getuid()));
  // The job's lock is held, so a previous listener is gone.
  ASSIGN_OR_RETURN(auto listener, platform::ListenAt(path, std::nullopt, SOCK_STREAM));
  return ControlServer(std::move(listener), path, std::move(handler));
}

ControlServer::~ControlServer() {
  if (listener_) unlink(path_.c_str());
}

void ControlServer::AddTo(std::vector<pollfd>& descriptors) {
  // A pending connection that cannot be accepted would make poll() return at once, forever.
  const bool paused = std::exchange(accept_paused_, false);
  descriptors.push_back({listener_.get(), static_cast<short>(paused ? 0 : POLLIN), 0});
  for (const auto& client : clients_) {
    const short events = client.unsent.empty() ? POLLIN : POLLOUT;
    descriptors.push_back({client.socket.get(), events, 0});
  }
}

void ControlServer::Handle(const pollfd* first) {
  const bool has_connection = first->revents != 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const bool stays = first[1 + i].revents == 0 || Serve(clients_[i]);
    if (!stays) continue;
    if (kept != i) clients_[kept] = std::move(clients_[i]);
    ++kept;
  }
  clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(kept), clients_.end());
  if (has_connection) Accept();
}

void ControlServer::Accept() {
  for (;;) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      accept_paused_ = errno != EAGAIN && errno != EINTR;
      return;
    }
    if (clients_.size() < kMaxClients) clients_.push_back({std::move(socket), {}, {}});
  }
}

bool ControlServer::Serve(Client& client) {
  char bytes[4096];
  for (;;) {
    const ssize_t size = recv(client.socket.get(), bytes, sizeof(bytes), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (size <= 0) return false;
    client.read.append(bytes, static_cast<std::size_t>(size));
    if (client.read.size() > kMaxRequestBytes) return false;
  }
  for (std::size_t end = 0; (end = client.read.find('\n')) != std::string::npos;) {
    const auto request = nlohmann::json::parse(
        client.read.begin(), client.read.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
        false);
    client.read.erase(0, end + 1);
    client.unsent +=
        JsonText(request.is_object()
                     ? handler_(request)
                     : nlohmann::json{{"error", "a request must be a JSON object on one line"}}) +
        "\n";
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

Result<nlohmann::json> QueryRunner(const std::string& id, const nlohmann::json& request) {
  const auto path = ControlSocket(id);
  const auto none = [&] { return Fail(Error::Code::kUnavailable, "job '{}' has no runner", id); };
  const auto socket = platform::ConnectTo(path, SOCK_STREAM);
  if (!socket) {
    using Code = Error::Code;
    const Code code = socket.error().code;
    if (code == Code::kUnavailable || code == Code::kInvalidArgument) return none();
    return Fail(code, "cannot reach the runner of job '{}': {}", id, socket.error().message);
  }
  const timeval limit{kAnswerTimeoutSeconds, 0};
  setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const std::string line = JsonText(request) + "\n";
  if (send(socket->get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return none();
  }
  std::string answer;
  char bytes[65536];
  while (!answer.ends_with('\n')) {
    const ssize_t size = recv(socket->get(), bytes, sizeof(bytes), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      return Fail(
          Error::Code::kInternal,
          "the runner of job '{}' has not answered within {} s; it may still carry out the request",
          id, kAnswerTimeoutSeconds);
    }
    if (size <= 0) return none();
    answer.append(bytes, static_cast<std::size_t>(size));
  }
  auto json = nlohmann::json::parse(answer, nullptr, false);
  if (json.is_discarded()) {
    return Fail(Error::Code::kIncompatible, "cannot parse the runner's answer");
  }
  return json;
}

}  // namespace reveza::jobs
