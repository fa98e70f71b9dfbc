#include "runner/supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/system_error.h"
#include "runner/supervisor/child.h"
#include "runner/supervisor/cycle_tap.h"
#include "runner/supervisor/descendants.h"
#include "runner/supervisor/frames.h"
#include "runner/supervisor/nanoseconds.h"
#include "runner/supervisor/record.h"
#include "runner/supervisor/running_step.h"
#include "runner/supervisor/step_group.h"

namespace reveza::runner {
namespace {

constexpr std::int64_t kRetryRecord = kSecond / 10;
constexpr std::int64_t kLeftBehindGrace = 2 * kSecond;

// Empty files would be two of three in a long list.
std::uint64_t SizeOrRemove(const std::string& path) {
  struct stat info{};
  if (path.empty() || stat(path.c_str(), &info) != 0) return 0;
  if (info.st_size == 0 && S_ISREG(info.st_mode)) unlink(path.c_str());
  return static_cast<std::uint64_t>(info.st_size);
}

// What is missing now, and may be there later: a process, memory, a descriptor, room on a disk.
// That a program is refused memory by its own limits stays so.
bool MayBeThereLater(const Child& child) {
  switch (child.error) {
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      return true;
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return !child.made;
    case ETXTBSY:
      return child.made;
    default:
      return false;
  }
}

// Whether anybody is left, and whether somebody waits to be reaped. A subreaper without children
// has no descendants, and asking needs no descriptor.
struct Left {
  bool anybody = false;
  bool dead = false;
};
Left WhoIsLeft() {
  siginfo_t info{};
  const int asked = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
  return {asked == 0 || errno != ECHILD, asked == 0 && info.si_pid != 0};
}

class Supervisor {
 public:
  Supervisor(int socket, RecordWriter record, UniqueFd children)
      : socket_(socket), record_(std::move(record)), children_(std::move(children)) {}

  void Run();

 private:
  void HandleSocket();
  void HandleFrame(const Frame& frame);
  std::optional<StepGroup> MakeGroup(const GroupRequest& request);
  void CloseGroup();
  void Start(StartRequest request);
  void Pause();
  void Continue();
  void End(Outcome outcome, std::int64_t grace);
  void LookAtDeath();
  void Reap();
  void NoteEnd(int status, const rusage& usage);
  void TakeCycles();
  void Watch();
  void TryToFinish();
  int Timeout() const;
  void Tell(const std::string& frame);

  int socket_;
  RecordWriter record_;
  UniqueFd children_;
  FrameReader reader_;
  std::optional<Running> running_;
  CycleTap cycles_;
  std::vector<CycleResult> unrecorded_;
  bool runner_gone_ = false;
  bool in_trouble_ = false;
  std::int64_t retry_at_ = 0;
};

void Supervisor::Tell(const std::string& frame) {
  std::string_view left = frame;
  while (!runner_gone_ && !left.empty()) {
    const ssize_t sent = send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// Nothing where none was asked for, and where none can be made: the step is worth more than its
// limit.
std::optional<StepGroup> Supervisor::MakeGroup(const GroupRequest& request) {
  if (request.folder.empty()) return std::nullopt;
  auto group = StepGroup::Make(request);
  if (group) return std::move(*group);
  Tell(PackFrame(FrameKind::kNoGroup, group.error().message));
  return std::nullopt;
}

// What the kernel counted in it, and then it is gone. A process that it killed for memory took
// its step with it, however that ended.
void Supervisor::CloseGroup() {
  if (!running_->group && !running_->scope) return;
  const GroupEnd end = running_->group ? running_->group->Look() : *running_->scope;
  if (running_->group) running_->group->Remove();
  running_->group.reset();
  running_->scope.reset();
  auto& outcome = running_->result.outcome;
  const bool by_itself = outcome == Outcome::kSignal || outcome == Outcome::kFailure;
  if (end.kills > 0 && by_itself) outcome = Outcome::kMemory;
  Tell(PackGroup(end));
}

void Supervisor::Start(StartRequest request) {
  const auto written = record_.Append(AttemptStarted{
      request.name, Clock(CLOCK_REALTIME), request.label, request.output, request.errors});
  if (!written) return Tell(PackFrame(FrameKind::kRefused, written.error().message));
  Running now;
  now.result.name = request.name;
  now.result.began = Clock(CLOCK_REALTIME);
  now.began = Now();
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC;
  const UniqueFd output(open(request.output.c_str(), kFlags, 0600));
  const UniqueFd errors(open(request.errors.c_str(), kFlags, 0600));
  Child child{.error = errno};
  if (output && errors) {
    int shown = output.get();
    if (request.cycles != 0) shown = cycles_.Open(output.get());
    now.group = MakeGroup(request.group);
    child = StartChild(request, {shown, errors.get()}, now.group ? &*now.group : nullptr);
    if (child.group_error != 0) {
      // Nothing was in it: what it says is not of the step.
      if (now.group) now.group->Remove();
      now.group.reset();
      Tell(PackFrame(FrameKind::kNoGroup, std::strerror(child.group_error)));
    }
    cycles_.CloseWriter();
  }
  now.request = std::move(request);
  now.result.pid = child.pid;
  if (child.pid == 0) {
    now.result.outcome = MayBeThereLater(child) ? Outcome::kCancelled : Outcome::kNotStarted;
    now.result.code = child.error;
    now.ended = true;
  }
  running_ = std::move(now);
  if (child.pid == 0) return TryToFinish();
  const auto pid = static_cast<std::uint32_t>(child.pid);
  Tell(PackFrame(FrameKind::kStarted, {reinterpret_cast<const char*>(&pid), sizeof(pid)}));
}

void Supervisor::Pause() {
  if (!running_ || running_->ended || running_->paused_since != 0) return;
  running_->paused_since = Now();
  kill(-running_->result.pid, SIGSTOP);
  SignalDescendants(getpid(), SIGSTOP);
}

void Supervisor::Continue() {
  if (!running_ || running_->paused_since == 0) return;
  running_->result.paused += Now() - std::exchange(running_->paused_since, 0);
  SignalDescendants(getpid(), SIGCONT);
  kill(-running_->result.pid, SIGCONT);
}

void Supervisor::End(Outcome outcome, std::int64_t grace) {
  if (!running_) return;
  if (!running_->ended && !running_->ended_by_us) running_->ended_by_us = outcome;
  const std::int64_t kill_at = Now() + grace;
  if (running_->kill_at == 0 || kill_at < running_->kill_at) running_->kill_at = kill_at;
  if (grace > 0) {
    SignalDescendants(getpid(), SIGTERM);
    // What stands still cannot end itself.
    Continue();
  }
  Watch();
}

void Supervisor::NoteEnd(int status, const rusage& usage) {
  Continue();
  if (!running_) return;
  Running& one = *running_;
  auto& result = one.result;
  one.ended = true;
  if (WIFEXITED(status)) {
    result.outcome = WEXITSTATUS(status) == 0 ? Outcome::kSuccess : Outcome::kFailure;
    result.code = WEXITSTATUS(status);
  } else {
    result.outcome = Outcome::kSignal;
    result.code = WTERMSIG(status);
  }
  // Who was asked to end, and did its work to the end nevertheless, has done it.
  if (one.ended_by_us && result.outcome != Outcome::kSuccess) result.outcome = *one.ended_by_us;
  result.user_time = Nanoseconds(usage.ru_utime);
  result.system_time = Nanoseconds(usage.ru_stime);
  result.largest_resident = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  // By the monotonic clock: the other one may be set while a step runs.
  result.ended = result.began + (Now() - one.began);
  TakeCycles();
}

// Of a step that has failed, for whoever explains it: until it is waited for its limits can be
// read, and its scope, which nobody keeps when it is empty, is most often still there.
void Supervisor::LookAtDeath() {
  if (!running_ || running_->ended || running_->looked_at_death) return;
  siginfo_t info{};
  const auto pid = static_cast<id_t>(running_->result.pid);
  if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
  if (info.si_code == CLD_EXITED && info.si_status == 0) return;
  running_->looked_at_death = true;
  const auto& scope = running_->request.group.scope;
  if (!scope.empty()) running_->scope = StepGroup::LookAt(scope, 2);
  const std::string path = "/proc/" + std::to_string(info.si_pid) + "/limits";
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = file ? read(file.get(), text, sizeof(text)) : 0;
  if (size > 0) Tell(PackFrame(FrameKind::kLimits, {text, static_cast<std::size_t>(size)}));
}

void Supervisor::Reap() {
  for (;;) {
    LookAtDeath();
    int status = 0;
    rusage usage{};
    const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) break;
    if (running_ && !running_->ended && pid == running_->result.pid) NoteEnd(status, usage);
  }
  TryToFinish();
}

void Supervisor::TakeCycles() {
  if (!running_) return;
  for (auto& cycle : cycles_.Read()) {
    running_->last_cycle = std::max(running_->last_cycle, cycle.number);
    unrecorded_.push_back(
        CycleResult{running_->result.name, cycle.number, Clock(CLOCK_REALTIME), cycle.metrics});
  }
  while (!unrecorded_.empty()) {
    if (!record_.Append(unrecorded_.front())) {
      retry_at_ = Now() + kRetryRecord;
      return;
    }
    Tell(PackCycle(unrecorded_.front()));
    unrecorded_.erase(unrecorded_.begin());
  }
  if (!running_->ended) retry_at_ = 0;
}

// When the program has ended: first what it left behind, then the record, then the runner.
void Supervisor::TryToFinish() {
  if (!running_ || !running_->ended || Now() < retry_at_) return;
  if (const Left left = WhoIsLeft(); left.anybody) {
    if (!left.dead && running_->kill_at == 0) End(Outcome::kCancelled, kLeftBehindGrace);
    return;
  }
  TakeCycles();
  CloseGroup();
  auto& result = running_->result;
  if (result.outcome == Outcome::kSuccess && running_->last_cycle < running_->request.cycles) {
    result.outcome = Outcome::kPartial;
  }
  result.output_bytes = SizeOrRemove(running_->request.output);
  result.error_bytes = SizeOrRemove(running_->request.errors);
  const auto written = unrecorded_.empty() ? record_.Append(result)
                                           : Fail(Error::Code::kExhausted, "cycles are left");
  if (!written) {
    if (!in_trouble_) Tell(PackFrame(FrameKind::kTrouble, written.error().message));
    in_trouble_ = true;
    retry_at_ = Now() + kRetryRecord;
    return;
  }
  in_trouble_ = false;
  retry_at_ = 0;
  Tell(PackResult(result));
  cycles_.Close();
  running_.reset();
}

void Supervisor::Watch() {
  if (!running_) return;
  const std::int64_t now = Now();
  auto& one = *running_;
  const bool stands_still = one.paused_since != 0;
  if (one.request.time_limit > 0 && !one.ended && !one.ended_by_us && !stands_still &&
      now - one.began - one.result.paused >= one.request.time_limit) {
    return End(Outcome::kTimeLimit, one.request.grace);
  }
  if (one.kill_at != 0 && now >= one.kill_at) {
    if (one.group) one.group->Kill();
    SignalDescendants(getpid(), SIGKILL);
    one.kill_at = now + kRetryRecord;
  }
  if (retry_at_ != 0 && now >= retry_at_) TakeCycles();
  TryToFinish();
}

int Supervisor::Timeout() const {
  if (!running_) return -1;
  const auto& one = *running_;
  std::int64_t at = 0;
  const auto sooner = [&at](std::int64_t other) {
    if (other != 0 && (at == 0 || other < at)) at = other;
  };
  if (one.request.time_limit > 0 && !one.ended && !one.ended_by_us && one.paused_since == 0) {
    sooner(one.began + one.result.paused + one.request.time_limit);
  }
  sooner(one.kill_at);
  sooner(retry_at_);
  if (at == 0) return -1;
  return static_cast<int>(std::max<std::int64_t>(0, at - Now()) / 1'000'000 + 1);
}

void Supervisor::HandleFrame(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kStart: {
      auto request = UnpackStart(frame.body);
      if (!request || running_) {
        return Tell(PackFrame(FrameKind::kRefused, running_ ? "it has something running"
                                                            : "the request cannot be read"));
      }
      return Start(std::move(*request));
    }
    case FrameKind::kPause:
      return Pause();
    case FrameKind::kContinue:
      return Continue();
    case FrameKind::kEnd:
      return End(Outcome::kCancelled, running_ ? running_->request.grace : 0);
    case FrameKind::kKill:
      return End(Outcome::kCancelled, 0);
    default:
      return;
  }
}

void Supervisor::HandleSocket() {
  char bytes[65536];
  const ssize_t size = recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) reader_.Feed({bytes, static_cast<std::size_t>(size)});
  while (auto frame = reader_.Next()) HandleFrame(*frame);
  if (size > 0 && !reader_.broken()) return;
  // Nobody is left who could let it go on.
  runner_gone_ = true;
  Continue();
}

void Supervisor::Run() {
  while (!runner_gone_ || running_) {
    pollfd descriptors[] = {{runner_gone_ ? -1 : socket_, POLLIN, 0},
                            {children_.get(), POLLIN, 0},
                            {cycles_.descriptor(), POLLIN, 0}};
    if (poll(descriptors, 3, Timeout()) < 0 && errno != EINTR) return;
    if (descriptors[1].revents != 0) {
      signalfd_siginfo info[16];
      while (read(children_.get(), info, sizeof(info)) > 0) {
      }
      Reap();
    }
    if (descriptors[2].revents != 0) TakeCycles();
    if (descriptors[0].revents != 0) HandleSocket();
    Watch();
  }
}

// Hears of children that have ended.
UniqueFd ListenForChildren() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int Refuse(int socket, const std::string& why) {
  const std::string frame = PackFrame(FrameKind::kRefused, why);
  send(socket, frame.data(), frame.size(), MSG_NOSIGNAL);
  return 1;
}

}  // namespace

int Supervise(int socket, const std::string& path) {
  // A Ctrl-C at the terminal, or a shutdown, is for the runner to deal with.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  // A step that had it would hide from the runner that its supervisor died.
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  auto record = RecordWriter::Create(path);
  if (!record) {
    return Refuse(socket, record.error().message + "; is there room, and may files be made there?");
  }
  auto children = ListenForChildren();
  if (!children) return Refuse(socket, SystemError("cannot hear of children", errno).message);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Supervisor(socket, std::move(*record), std::move(children)).Run();
  return 0;
}

}  // namespace reveza::runner
