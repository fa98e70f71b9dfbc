#include "runner/engine/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace reveza::runner {
namespace {

// Where a supervisor finds its socket: behind the standard streams.
constexpr int kSocketThere = 3;

struct SpawnActions {
  SpawnActions() { posix_spawn_file_actions_init(&value); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t value{};
};

struct SpawnAttributes {
  SpawnAttributes() { posix_spawnattr_init(&value); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&value); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t value{};
};

}  // namespace

Result<Worker> Worker::Start(const std::filesystem::path& program,
                             const std::filesystem::path& record) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(Error::Code::kExhausted,
                fmt::format("no socket for a supervisor: {}", std::strerror(errno)));
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  SpawnActions actions;
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // Whoever reads what the runner prints must not wait for a supervisor that outlives it.
  posix_spawn_file_actions_addopen(&actions.value, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions.value, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.value, theirs.get(), kSocketThere);
  SpawnAttributes attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes.value, &none);
  posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::string path = program;
  std::string socket = std::to_string(kSocketThere);
  std::string where = record;
  char* arguments[] = {path.data(), socket.data(), where.data(), nullptr};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, path.c_str(), &actions.value, &attributes.value, arguments, environ);
  if (error != 0) {
    return Fail(error == ENOENT ? Error::Code::kNotFound : Error::Code::kInternal,
                fmt::format("cannot start {}: {}", path, std::strerror(error)));
  }
  return Worker(std::move(ours), pid, record);
}

void Worker::Send(std::string_view frame) {
  unsent_ += frame;
  Flush();
}

void Worker::Flush() {
  while (!unsent_.empty()) {
    const ssize_t sent =
        send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    // Nobody there: Receive will say so.
    if (sent < 0 && errno != EAGAIN) return unsent_.clear();
    if (sent <= 0) return;
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

bool Worker::Receive(std::vector<Frame>& frames) {
  char bytes[65536];
  bool alive = true;
  for (;;) {
    const ssize_t size = recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      alive = false;
      break;
    }
    reader_.Feed({bytes, static_cast<std::size_t>(size)});
  }
  while (auto frame = reader_.Next()) frames.push_back(std::move(*frame));
  return alive && !reader_.broken();
}

}  // namespace reveza::runner
