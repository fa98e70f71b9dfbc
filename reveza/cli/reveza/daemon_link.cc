#include "reveza/cli/reveza/daemon_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "common/base/exec_arguments.h"
#include "common/platform/process.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/unix_socket.h"
#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kStartTimeout = std::chrono::seconds(20);
constexpr std::size_t kMaxText = 256 << 20;
constexpr char kPermissionHint[] = "join its group, or set REVEZA_SOCKET to a path of your own";

std::unexpected<CommandError> VersionMismatch(const fs::path& socket, unsigned version) {
  return Failure(
      kVersion,
      "the daemon at {} speaks version {} of the protocol, this program version {}; stop "
      "it with its own `reveza stop` (or kill it) and try again",
      socket.string(), version, wire::kVersion);
}

// Returns the offset of the log's next line, after truncating a log of 1 MiB or more.
std::uintmax_t LogEnd(const fs::path& log) {
  constexpr std::uintmax_t kMaxSize = 1 << 20;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(log, error);
  if (error) return 0;
  if (size < kMaxSize) return size;
  fs::resize_file(log, 0, error);
  return 0;
}

// Returns the last line of the log after the offset `begin`.
std::string LastLine(const fs::path& log, std::uintmax_t begin) {
  std::ifstream file(log);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string line;
  std::string last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

// Executes the daemon in a new session, with no inherited descriptors. Runs in the grandchild.
[[noreturn]] void ExecDaemon(const fs::path& program, const fs::path& log,
                             const std::vector<std::string>& flags, int status_pipe) {
  setsid();
  const int null = open("/dev/null", O_RDONLY);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (out >= 0) {
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
  }
  // The status pipe is close-on-exec; all other descriptors are closed.
  if (status_pipe != 3) dup3(status_pipe, 3, O_CLOEXEC);
  close_range(4, ~0U, 0);
  [[maybe_unused]] const int moved = chdir("/");
  unsetenv("LD_PRELOAD");
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), flags.begin(), flags.end());
  execv(program.c_str(), ExecArguments(words).data());
  const int error = errno;
  [[maybe_unused]] const auto written = write(3, &error, sizeof(error));
  _exit(127);
}

// Starts the daemon. Success does not mean that it stays up; its log tells.
CommandResult<void> Spawn(const fs::path& program, const fs::path& log,
                          const std::vector<std::string>& flags) {
  auto status = MakePipe();
  if (!status) return Failure(kFailed, "too many open files");
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) ExecDaemon(program, log, flags, status->writer.get());
    _exit(grandchild > 0 ? 0 : 1);
  }
  status->writer.Reset();
  int error = 0;
  const ssize_t got = read(status->reader.get(), &error, sizeof(error));
  if (child > 0) waitpid(child, nullptr, 0);
  if (child < 0) return Failure(kNotStarted, "cannot start the daemon: {}", std::strerror(errno));
  if (got == sizeof(error)) {
    return Failure(kNotStarted, "cannot start {}: {}", program.string(), std::strerror(error));
  }
  return {};
}

}  // namespace

fs::path LogPath(const fs::path& socket) { return socket.parent_path() / "revezad.log"; }

pid_t DaemonLink::Peer() const {
  const auto peer = platform::PeerCredentials(fd_.get());
  return peer ? peer->pid : 0;
}

CommandResult<DaemonLink> DaemonLink::Connect(const fs::path& socket) {
  auto fd = platform::ConnectTo(socket);
  if (fd) return DaemonLink(std::move(*fd), socket);
  switch (fd.error().code) {
    case Error::Code::kUnavailable:
      return Failure(kNoDaemon, "{}; `reveza run` starts one", fd.error().message);
    case Error::Code::kPermission:
      return Failure(kPermission, "no permission on {}: it belongs to another user ({})",
                     socket.string(), kPermissionHint);
    default:
      return Failure(kFailed, "{}", fd.error().message);
  }
}

CommandResult<DaemonLink> DaemonLink::ConnectOrStart(const fs::path& socket,
                                                     const std::vector<std::string>& flags) {
  auto link = Connect(socket);
  if (link || link.error().status != kNoDaemon) return link;
  if (auto folder = platform::PrepareSocketFolder(socket, getuid()); !folder) {
    return Failure(kPermission, "{}", folder.error().message);
  }
  const fs::path log = LogPath(socket);
  const fs::path program = platform::ProgramFolder() / "revezad";
  const std::uintmax_t log_end = LogEnd(log);
  std::vector<std::string> all = {"--socket", socket.string()};
  all.insert(all.end(), flags.begin(), flags.end());
  RETURN_IF_ERROR(Spawn(program, log, all));
  // Another process may start a daemon at the same time; the one that gets the socket will do.
  const auto limit = steady_clock::now() + kStartTimeout;
  while (steady_clock::now() < limit) {
    link = Connect(socket);
    if (link || link.error().status != kNoDaemon) return link;
    const std::string last = LastLine(log, log_end);
    const bool ended = last.starts_with("revezad: ") && last.find("another daemon") == last.npos;
    if (ended) return Failure(kNotStarted, "the daemon did not start: {}", last);
    std::this_thread::sleep_for(milliseconds(10));
  }
  return Failure(kNotStarted, "the daemon did not start within {} s; see {}", kStartTimeout.count(),
                 log.string());
}

CommandResult<std::string> DaemonLink::Exchange(const void* packet, std::size_t size) {
  if (send(fd_.get(), packet, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
    return Failure(kNoDaemon, "the daemon at {} closed the connection", socket_.string());
  }
  std::string text;
  std::vector<char> part(wire::kMaxPacket + 1);
  for (;;) {
    pollfd readable{fd_.get(), POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(timeout_.count())) == 0) {
      return Failure(kFailed, "the daemon at {} does not answer", socket_.string());
    }
    const ssize_t got = recv(fd_.get(), part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return Failure(kNoDaemon, "the daemon at {} closed the connection", socket_.string());
    wire::Type type{};
    const auto error = wire::Validate(part.data(), static_cast<std::size_t>(got), &type);
    if (error == wire::DecodeError::kWrongVersion) {
      return VersionMismatch(socket_, wire::VersionOf(part.data()));
    }
    if (error != wire::DecodeError::kNone) {
      return Failure(kVersion, "the process that listens at {} is not a Reveza daemon",
                     socket_.string());
    }
    if (type == wire::Type::kRefused) {
      const auto refused = wire::View<wire::Refused>(part.data());
      if (refused.reason == wire::RefusedReason::kWrongVersion) {
        FallBackTo(refused.version);
        return VersionMismatch(socket_, refused.version);
      }
      const std::string why = static_cast<const char*>(refused.text);
      if (refused.reason == wire::RefusedReason::kUser) {
        return Failure(kPermission, "the daemon at {} refused: {} ({})", socket_.string(), why,
                       kPermissionHint);
      }
      return Failure(kFailed, "the daemon at {} refused: {}", socket_.string(), why);
    }
    if (type != wire::Type::kText) continue;
    const auto header = wire::View<wire::TextHeader>(part.data());
    text.append(part.data() + wire::kPacketSize<wire::TextHeader>, header.bytes);
    if (header.last == 1) return text;
    if (text.size() > kMaxText) return Failure(kFailed, "the daemon's answer is too long");
  }
}

bool DaemonLink::FallBackTo(std::uint32_t version) {
  if (version < wire::kMinVersion || version >= version_) return false;
  auto fd = platform::ConnectTo(socket_);
  if (!fd) return false;
  fd_ = std::move(*fd);
  version_ = static_cast<std::uint16_t>(version);
  return true;
}

template <typename T>
CommandResult<std::string> DaemonLink::Request(const T& message) {
  for (;;) {
    if (!wire::IsKnownTo<T>(version_)) return VersionMismatch(socket_, version_);
    const std::uint16_t version = version_;
    char packet[wire::kPacketSize<T>];
    auto answer = Exchange(packet, wire::Encode(message, packet, version));
    if (answer || version == version_) return answer;
  }
}

template <typename T>
CommandResult<nlohmann::json> DaemonLink::RequestJson(const T& message) {
  ASSIGN_OR_RETURN(auto text, Request(message));
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) return Failure(kFailed, "the daemon's answer is not valid JSON");
  return parsed;
}

CommandResult<nlohmann::json> DaemonLink::Status() { return RequestJson(wire::StatusRequest{}); }

CommandResult<std::string> DaemonLink::Trace() { return Request(wire::TraceRequest{}); }

CommandResult<nlohmann::json> DaemonLink::Events(std::uint64_t since) {
  return RequestJson(wire::EventsRequest{since});
}

CommandResult<nlohmann::json> DaemonLink::Stop(bool force) {
  return RequestJson(wire::StopRequest{force ? 1u : 0u, 0});
}

CommandResult<nlohmann::json> DaemonLink::AskForMps(const wire::MpsRequest& request) {
  return RequestJson(request);
}

CommandResult<nlohmann::json> DaemonLink::Change(const wire::JobRequest& request) {
  return RequestJson(request);
}

}  // namespace reveza::cli
