#include "daemon_link.h"

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

#include "platform/process.h"
#include "platform/runtime_paths.h"
#include "platform/unix_socket.h"
#include "wire/codec.h"
#include "wire/messages.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kStartLimit = std::chrono::seconds(20);
constexpr std::size_t kMostText = 256 << 20;
constexpr char kNotYours[] = "ask to join its group, or set REVEZA_SOCKET to one of your own";

template <typename... Arguments>
std::unexpected<Trouble> Bad(ExitStatus status, fmt::format_string<Arguments...> format,
                             Arguments&&... arguments) {
  return std::unexpected(
      Trouble{status, fmt::format(format, std::forward<Arguments>(arguments)...)});
}

std::unexpected<Trouble> OtherVersion(const fs::path& socket) {
  return Bad(kVersion,
             "the daemon at {} is of another version; end it with its own `reveza stop` (or: kill "
             "it) and try again",
             socket.string());
}

// Where new lines of the log will begin. A log that has become long begins anew.
std::uintmax_t EndOf(const fs::path& log) {
  constexpr std::uintmax_t most = 1 << 20;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(log, error);
  if (error) return 0;
  if (size < most) return size;
  fs::resize_file(log, 0, error);
  return 0;
}

// What the daemon wrote last behind `begin`, for an error message.
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

// The grandchild becomes the daemon: a session of its own, nothing of ours open.
[[noreturn]] void BecomeDaemon(const fs::path& program, const fs::path& log,
                               const std::vector<std::string>& flags, int status_pipe) {
  setsid();
  const int null = open("/dev/null", O_RDONLY);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (out >= 0) {
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
  }
  // The pipe closes when the program begins or when we end; everything else is not the daemon's.
  if (status_pipe != 3) dup3(status_pipe, 3, O_CLOEXEC);
  close_range(4, ~0U, 0);
  [[maybe_unused]] const int moved = chdir("/");
  unsetenv("LD_PRELOAD");
  std::vector<char*> arguments;
  std::string name = program.string();
  arguments.push_back(name.data());
  std::vector<std::string> copies = flags;
  for (std::string& flag : copies) arguments.push_back(flag.data());
  arguments.push_back(nullptr);
  execv(name.c_str(), arguments.data());
  const int error = errno;
  [[maybe_unused]] const auto written = write(3, &error, sizeof(error));
  _exit(127);
}

// nothing: it runs (or ended at once, which its log tells).
Outcome<void> Spawn(const fs::path& program, const fs::path& log,
                    const std::vector<std::string>& flags) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return Bad(kFailed, "no descriptors are left");
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) BecomeDaemon(program, log, flags, pipe_ends[1]);
    _exit(grandchild > 0 ? 0 : 1);
  }
  close(pipe_ends[1]);
  int error = 0;
  const ssize_t got = read(pipe_ends[0], &error, sizeof(error));
  close(pipe_ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (child < 0) return Bad(kNotStarted, "cannot start the daemon: {}", std::strerror(errno));
  if (got == sizeof(error)) {
    return Bad(kNotStarted, "cannot start {}: {}", program.string(), std::strerror(error));
  }
  return {};
}

}  // namespace

fs::path LogOf(const fs::path& socket) { return socket.parent_path() / "revezad.log"; }

pid_t DaemonLink::Peer() const {
  const auto peer = platform::PeerCredentials(fd_.get());
  return peer ? peer->pid : 0;
}

Outcome<DaemonLink> DaemonLink::Connect(const fs::path& socket) {
  auto fd = platform::ConnectTo(socket);
  if (fd) return DaemonLink(std::move(*fd), socket);
  switch (fd.error().code) {
    case Error::Code::kUnavailable:
      return Bad(kNoDaemon, "{}; `reveza run` starts one", fd.error().message);
    case Error::Code::kPermission:
      return Bad(kPermission, "no permission on {}: it is another user's ({})", socket.string(),
                 kNotYours);
    default:
      return Bad(kFailed, "{}", fd.error().message);
  }
}

Outcome<DaemonLink> DaemonLink::ConnectOrStart(const fs::path& socket,
                                               const std::vector<std::string>& flags) {
  auto link = Connect(socket);
  if (link || link.error().status != kNoDaemon) return link;
  if (auto folder = platform::PrepareSocketFolder(socket, getuid()); !folder) {
    return Bad(kPermission, "{}", folder.error().message);
  }
  const fs::path log = LogOf(socket);
  const fs::path program = platform::ProgramFolder() / "revezad";
  const std::uintmax_t log_end = EndOf(log);
  std::vector<std::string> all = {"--socket", socket.string()};
  all.insert(all.end(), flags.begin(), flags.end());
  if (auto spawned = Spawn(program, log, all); !spawned) return std::unexpected(spawned.error());
  // Somebody else may start one in the same moment: whichever has the socket serves us.
  const auto limit = steady_clock::now() + kStartLimit;
  while (steady_clock::now() < limit) {
    link = Connect(socket);
    if (link || link.error().status != kNoDaemon) return link;
    const std::string last = LastLine(log, log_end);
    const bool ended = last.starts_with("revezad: ") && last.find("another daemon") == last.npos;
    if (ended) return Bad(kNotStarted, "the daemon did not start: {}", last);
    std::this_thread::sleep_for(milliseconds(10));
  }
  return Bad(kNotStarted, "the daemon did not start within {} s; see {}", kStartLimit.count(),
             log.string());
}

Outcome<std::string> DaemonLink::Ask(const void* packet, std::size_t size) {
  if (send(fd_.get(), packet, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
    return Bad(kNoDaemon, "the daemon at {} went away", socket_.string());
  }
  std::string text;
  std::vector<char> part(wire::kMaxPacket + 1);
  for (;;) {
    pollfd readable{fd_.get(), POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(answer_limit_.count())) == 0) {
      return Bad(kFailed, "the daemon at {} does not answer", socket_.string());
    }
    const ssize_t got = recv(fd_.get(), part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Bad(kNoDaemon, "the daemon at {} went away", socket_.string());
    wire::Type type{};
    const auto error = wire::Validate(part.data(), static_cast<std::size_t>(got), &type);
    if (error == wire::DecodeError::kWrongVersion) return OtherVersion(socket_);
    if (error != wire::DecodeError::kNone) {
      return Bad(kVersion, "what answers at {} is no daemon of ours", socket_.string());
    }
    if (type == wire::Type::kRefused) {
      const auto refused = wire::View<wire::Refused>(part.data());
      if (refused.reason == wire::RefusedReason::kWrongVersion) return OtherVersion(socket_);
      const std::string why = static_cast<const char*>(refused.text);
      if (refused.reason == wire::RefusedReason::kUser) {
        return Bad(kPermission, "the daemon at {} refused: {} ({})", socket_.string(), why,
                   kNotYours);
      }
      return Bad(kFailed, "the daemon at {} refused: {}", socket_.string(), why);
    }
    if (type != wire::Type::kText) continue;
    const auto header = wire::View<wire::TextHeader>(part.data());
    text.append(part.data() + wire::kPacketSize<wire::TextHeader>, header.bytes);
    if (header.last == 1) return text;
    if (text.size() > kMostText) return Bad(kFailed, "the daemon's answer has no end");
  }
}

Outcome<nlohmann::json> DaemonLink::AskJson(const void* packet, std::size_t size) {
  auto text = Ask(packet, size);
  if (!text) return std::unexpected(text.error());
  auto parsed = nlohmann::json::parse(*text, nullptr, false);
  if (!parsed.is_object()) return Bad(kFailed, "the daemon's answer cannot be read");
  return parsed;
}

Outcome<nlohmann::json> DaemonLink::Status() {
  char packet[wire::kPacketSize<wire::StatusRequest>];
  return AskJson(packet, wire::Encode(wire::StatusRequest{}, packet));
}

Outcome<std::string> DaemonLink::Trace() {
  char packet[wire::kPacketSize<wire::TraceRequest>];
  return Ask(packet, wire::Encode(wire::TraceRequest{}, packet));
}

Outcome<nlohmann::json> DaemonLink::Stop(bool force) {
  char packet[wire::kPacketSize<wire::StopRequest>];
  return AskJson(packet, wire::Encode(wire::StopRequest{force ? 1u : 0u, 0}, packet));
}

}  // namespace reveza::cli
