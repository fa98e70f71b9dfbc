#include "reveza/jobs/engine/worker_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "reveza/jobs/supervisor/record.h"

extern char** environ;

namespace reveza::jobs {
namespace {

// Reaps a child that is exiting or dead, and describes its end.
std::string ReapAndDescribe(pid_t pid) {
  constexpr int kMaxWaitMs = 1000;
  const UniqueFd descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{descriptor.get(), POLLIN, 0};
  if (descriptor) poll(&end, 1, kMaxWaitMs);
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return "disappeared";
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

// The descriptor of a supervisor's socket.
constexpr int kSupervisorSocket = 3;

// The actions and attributes of posix_spawn.
struct SpawnOptions {
  SpawnOptions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

constexpr auto kPollInterval = std::chrono::milliseconds(100);

// Returns the result of an attempt as the journal has it, else one of unknown outcome.
Result<AttemptResult> FindResult(Journal& journal, const AttemptName& name) {
  ASSIGN_OR_RETURN(const auto attempts, journal.Attempts(name.identity));
  const auto same = std::ranges::find_if(
      attempts, [&](const AttemptEntry& entry) { return entry.result.name == name; });
  if (same != attempts.end()) return same->result;
  AttemptResult result;
  result.name = name;
  return result;
}

}  // namespace

std::size_t WorkerPool::FreeSlot() {
  const auto free = std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.active; });
  if (free != slots_.end()) return static_cast<std::size_t>(free - slots_.begin());
  slots_.emplace_back();
  return slots_.size() - 1;
}

Status WorkerPool::Start(std::size_t slot, const StartRequest& request, const Inherited& inherited,
                         ActiveAttempt active) {
  auto& one = slots_[slot];
  if (!one.worker) {
    ASSIGN_OR_RETURN(auto worker, Worker::Start(supervisor_, folder_.NewRecord()));
    one.worker = std::move(worker);
    one.inherited.reset();
  }
  one.active = std::move(active);
  if (!one.worker) return {};
  const bool is_known = std::exchange(one.inherited, inherited) == inherited;
  one.worker->Send((is_known ? std::string() : Pack(*inherited)) + Pack(request));
  return {};
}

void WorkerPool::Send(std::size_t slot, FrameKind what) {
  auto& worker = slots_[slot].worker;
  if (worker) worker->Send(PackFrame(what));
}

WorkerPool::ReapedSupervisor WorkerPool::Reap(std::size_t slot) {
  auto& one = slots_[slot];
  one.active.reset();
  if (!one.worker) return {};
  ReapedSupervisor remains{one.worker->record(), ReapAndDescribe(one.worker->pid())};
  one.worker.reset();
  return remains;
}

void WorkerPool::AddTo(std::vector<pollfd>& descriptors) const {
  for (const auto& slot : slots_) {
    const short events = slot.worker && slot.worker->wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    descriptors.push_back({slot.worker ? slot.worker->descriptor() : -1, events, 0});
  }
}

std::vector<WorkerPool::Event> WorkerPool::Handle(const pollfd* first) {
  std::vector<Event> all;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    auto& worker = slots_[i].worker;
    if (first[i].revents == 0 || !worker) continue;
    if ((first[i].revents & POLLOUT) != 0) worker->Flush();
    Event event{i, {}, false};
    event.exited = !worker->Receive(event.frames);
    if (event.exited || !event.frames.empty()) all.push_back(std::move(event));
  }
  return all;
}

unsigned WorkerPool::active() const {
  return static_cast<unsigned>(
      std::ranges::count_if(slots_, [](const Slot& slot) { return slot.active.has_value(); }));
}

Result<Worker> Worker::Start(const std::filesystem::path& program,
                             const std::filesystem::path& record) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(Error::Code::kExhausted, "cannot create a socket for a supervisor: {}",
                std::strerror(errno));
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  SpawnOptions options;
  posix_spawn_file_actions_addopen(&options.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // A supervisor outlives the runner and must not keep its output pipes open.
  posix_spawn_file_actions_addopen(&options.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&options.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&options.actions, theirs.get(), kSupervisorSocket);
  // Until it handles them, or it would die of those that come while it starts.
  sigset_t blocked;
  sigfillset(&blocked);
  posix_spawnattr_setsigmask(&options.attributes, &blocked);
  posix_spawnattr_setflags(&options.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::string path = program;
  std::string socket = std::to_string(kSupervisorSocket);
  std::string where = record;
  char* arguments[] = {path.data(), socket.data(), where.data(), nullptr};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, path.c_str(), &options.actions, &options.attributes, arguments, environ);
  if (error != 0) {
    return Fail(error == ENOENT ? Error::Code::kNotFound : Error::Code::kInternal,
                "cannot start {}: {}", path, std::strerror(error));
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
    // The supervisor has exited; Receive reports it.
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
    // The end, if it has come already, is read next time.
    if (static_cast<std::size_t>(size) < sizeof(bytes)) break;
  }
  while (auto frame = reader_.Next()) frames.push_back(std::move(*frame));
  return alive && !reader_.broken();
}

void AdoptedAttempts::Add(LiveAttempt attempt) {
  attempts_.push_back(std::move(attempt));
  next_poll_ = Nanoseconds{0};
}

AdoptedAttempts::Polled AdoptedAttempts::Poll(
    Nanoseconds now, Journal& journal, const std::function<bool(const Identity&)>& is_listed) {
  Polled polled;
  if (attempts_.empty() || now < next_poll_) return polled;
  next_poll_ = now + kPollInterval;
  for (auto& attempt : std::exchange(attempts_, {})) {
    const auto held = IsHeld(attempt.record.string());
    if (!held && std::exchange(last_error_, held.error().message) != held.error().message) {
      polled.notes.push_back(held.error().message);
    }
    // Assumed alive while its state cannot be determined.
    if (held.value_or(true)) {
      attempts_.push_back(std::move(attempt));
      continue;
    }
    ImportResult imported;
    if (auto done = ImportRecord(attempt.record, journal, imported); !done) {
      polled.errors.push_back(done.error());
      attempts_.push_back(std::move(attempt));
      continue;
    }
    if (!is_listed(attempt.name.identity)) continue;
    auto result = FindResult(journal, attempt.name);
    if (result) {
      polled.ended.push_back(*result);
    } else {
      polled.errors.push_back(result.error());
      attempts_.push_back(std::move(attempt));
    }
  }
  return polled;
}

}  // namespace reveza::jobs
