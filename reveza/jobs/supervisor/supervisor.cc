#include "reveza/jobs/supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "common/base/error.h"
#include "common/platform/text_file.h"
#include "reveza/jobs/supervisor/child.h"
#include "reveza/jobs/supervisor/cycle_lines.h"
#include "reveza/jobs/supervisor/disk_space.h"
#include "reveza/jobs/supervisor/frames.h"
#include "reveza/jobs/supervisor/output_file.h"
#include "reveza/jobs/supervisor/record.h"
#include "reveza/jobs/supervisor/runner_socket.h"
#include "reveza/jobs/supervisor/running_step.h"
#include "reveza/jobs/supervisor/step_group.h"
#include "reveza/jobs/supervisor/termination.h"

namespace reveza::jobs {
namespace {

constexpr std::int64_t kRetryInterval = kSecond / 10;
constexpr std::int64_t kBackgroundGrace = 2 * kSecond;

// An output gets its name, where others can read it, so long after the first byte at most.
constexpr std::int64_t kFirstPublication = kSecond / 20;
constexpr std::int64_t kPublicationInterval = kSecond / 4;

// The runner is told of the start of a step that is still running after so long. Of a briefer one
// it learns with the result, and wakes up once instead of twice.
constexpr std::int64_t kAnnouncement = kSecond / 200;

// Returns how many milliseconds poll() waits until the monotonic `time`; -1, without an end, if
// that is 0.
int TimeoutUntil(std::int64_t time) {
  if (time == 0) return -1;
  return static_cast<int>(std::max<std::int64_t>(0, time - Now()) / 1'000'000 + 1);
}

class Supervisor {
 public:
  Supervisor(int socket, RecordWriter record, UniqueFd signals)
      : runner_(socket), record_(std::move(record)), signals_(std::move(signals)) {}

  void Run();

 private:
  void HandleSignals();
  void HandleSocket();
  void HandleFrame(const Frame& frame);
  std::optional<StepGroup> MakeGroup(const GroupRequest& request);
  void CloseGroup();
  void Start(StartRequest request);
  void Pause();
  void Continue();
  void End(Outcome outcome, std::int64_t grace);
  void Terminate(Outcome outcome, std::int64_t grace);
  void OnSigterm();
  void Announce();
  void InspectDeath();
  void Reap();
  void HandleExit(int status, const rusage& usage);
  void ReadCycles();
  void CheckTimers();
  void PublishOutput();
  // `childless`: no process of the step is left, as far as the caller knows.
  void FinishIfDone(bool childless = false);

  RunnerSocket runner_;
  RecordWriter record_;
  UniqueFd signals_;
  std::vector<std::string> inherited_;
  ProgramStarter programs_;
  DiskSpace space_;
  std::optional<RunningStep> running_;
  CycleTap cycles_;
  StepOutputs outputs_;
  std::vector<CycleResult> unrecorded_;
  bool record_failed_ = false;
  std::int64_t retry_at_ = 0;
  std::optional<std::int64_t> sigterm_at_;  // the last one of its own
};

// Returns nullopt if no group was requested or none can be created: the step runs without a limit
// rather than not at all.
std::optional<StepGroup> Supervisor::MakeGroup(const GroupRequest& request) {
  if (request.folder.empty()) return std::nullopt;
  auto group = StepGroup::Create(request);
  if (group) return std::move(*group);
  runner_.Send(PackFrame(FrameKind::kNoGroup, group.error().message));
  return std::nullopt;
}

// Sends the group's counters and removes it. A failed step with OOM kills is attributed to them.
void Supervisor::CloseGroup() {
  if (!running_->group && !running_->scope) return;
  const GroupStats end = running_->group ? running_->group->Stats() : *running_->scope;
  if (running_->group) running_->group->Remove();
  running_->group.reset();
  running_->scope.reset();
  auto& outcome = running_->result.outcome;
  const bool by_itself = outcome == Outcome::kSignal || outcome == Outcome::kFailure;
  if (end.kills > 0 && by_itself) outcome = Outcome::kMemory;
  runner_.Send(Pack(end));
}

void Supervisor::Start(StartRequest request) {
  const auto written = record_.Append(AttemptStarted{
      request.name, Clock(CLOCK_REALTIME), request.label, request.output, request.errors});
  if (!written) return runner_.Send(PackFrame(FrameKind::kRefused, written.error().message));
  RunningStep now;
  now.result.name = request.name;
  now.result.began = Clock(CLOCK_REALTIME);
  now.began = Now();
  now.publish_at = now.began + kFirstPublication;
  const bool opened = outputs_.Open(request);
  Child child{.error = errno};
  if (opened) {
    now.group = MakeGroup(request.group);
    int shown = outputs_.output.descriptor();
    if (request.cycles != 0) shown = cycles_.Open(shown);
    child = programs_.Start(request, inherited_, {shown, outputs_.errors.descriptor()},
                            now.group ? &*now.group : nullptr);
    cycles_.CloseWriter();
    if (child.group_error != 0) {
      // The step never entered the group.
      if (now.group) now.group->Remove();
      now.group.reset();
      runner_.Send(PackFrame(FrameKind::kNoGroup, std::strerror(child.group_error)));
    }
  }
  now.request = std::move(request);
  now.result.pid = child.pid;
  if (child.pid == 0) {
    now.result.outcome = IsTemporaryError(child) ? Outcome::kCancelled : Outcome::kNotStarted;
    now.result.code = child.error;
    now.ended = true;
  } else {
    now.announce_at = now.began + kAnnouncement;
  }
  running_ = std::move(now);
  if (child.pid == 0) FinishIfDone();
}

void Supervisor::Announce() {
  if (std::exchange(running_->announce_at, 0) == 0) return;
  const auto pid = static_cast<std::uint32_t>(running_->result.pid);
  runner_.Send(PackFrame(FrameKind::kStarted, {reinterpret_cast<const char*>(&pid), sizeof(pid)}));
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
  // A step that has exited by itself was not told to end.
  if (running_ && !running_->ended) Reap();
  if (running_) Terminate(outcome, grace);
}

void Supervisor::Terminate(Outcome outcome, std::int64_t grace) {
  if (!running_->ended && !running_->end_reason) running_->end_reason = outcome;
  const std::int64_t kill_at = Now() + grace;
  if (running_->kill_at == 0 || kill_at < running_->kill_at) running_->kill_at = kill_at;
  // To some programs a second SIGTERM means to drop everything.
  if (grace > 0) {
    if (!std::exchange(running_->told_to_end, true)) SignalDescendants(getpid(), SIGTERM);
    // A stopped process cannot handle SIGTERM.
    Continue();
  }
  CheckTimers();
}

// Everybody may have got it: see termination.h. It ends the step, and explains an exit of a moment
// ago.
void Supervisor::OnSigterm() {
  sigterm_at_ = Now();
  if (!running_) return;
  if (!running_->ended) return Terminate(Outcome::kCancelled, running_->request.grace);
  if (Now() < running_->judge_at && !running_->end_reason) {
    running_->end_reason = Outcome::kCancelled;
  }
}

void Supervisor::HandleExit(int status, const rusage& usage) {
  Continue();
  if (!running_) return;
  RunningStep& step = *running_;
  RecordExit(step, status, usage);
  // Its own SIGTERM may have come before the step's, which was not even started then.
  const bool terminated = sigterm_at_ && Now() - *sigterm_at_ < kTerminationSpread;
  if (terminated && !step.end_reason) step.end_reason = Outcome::kCancelled;
  // Before the record is written, which may wait until the disk has room again.
  const std::string& output = step.request.output;
  const std::string folder = output.substr(0, output.rfind('/'));
  step.disk_was_full =
      !space_.HasRoom(folder, Now()) || (!outputs_.are_empty() && IsAtQuota(folder));
  ReadCycles();
}

// Collects evidence about a step before it is reaped: what it does with signals is still readable,
// and of a failed one its limits; its systemd scope, which is removed when empty, usually still
// exists.
void Supervisor::InspectDeath() {
  if (!running_ || running_->ended || running_->death_inspected) return;
  siginfo_t info{};
  const auto pid = static_cast<id_t>(running_->result.pid);
  if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
  running_->death_inspected = true;
  const std::int64_t now = Now();
  running_->judge_at = now + DoubtAfterExit(info, now - running_->began);
  if (info.si_code == CLD_EXITED && info.si_status == 0) return;
  const auto& scope = running_->request.group.scope;
  if (!scope.empty()) running_->scope = StepGroup::ReadStats(scope, 2);
  const auto limits = platform::ReadText("/proc/" + std::to_string(info.si_pid) + "/limits");
  if (!limits || limits->empty()) return;
  Announce();
  runner_.Send(PackFrame(FrameKind::kLimits, *limits));
}

void Supervisor::Reap() {
  struct Exit {
    int status = 0;
    rusage usage{};
  };
  std::optional<Exit> exit;  // of the step's program
  bool childless = false;
  for (;;) {
    if (!exit) InspectDeath();
    Exit one;
    const pid_t pid = wait4(-1, &one.status, WNOHANG, &one.usage);
    childless = pid < 0 && errno == ECHILD;
    if (pid <= 0) break;
    if (running_ && !running_->ended && pid == running_->result.pid) exit = one;
  }
  if (exit) {
    // Only the tap of cycles may still have something to write.
    if (childless && running_->request.cycles == 0) outputs_.FixSizes();
    HandleExit(exit->status, exit->usage);
  }
  FinishIfDone(childless);
}

void Supervisor::ReadCycles() {
  if (!running_) return;
  for (auto& cycle : cycles_.Read()) {
    running_->last_cycle = std::max(running_->last_cycle, cycle.number);
    unrecorded_.push_back(
        CycleResult{running_->result.name, cycle.number, Clock(CLOCK_REALTIME), cycle.metrics});
  }
  while (!unrecorded_.empty()) {
    if (!record_.Append(unrecorded_.front())) {
      retry_at_ = Now() + kRetryInterval;
      return;
    }
    Announce();
    runner_.Send(Pack(unrecorded_.front()));
    unrecorded_.erase(unrecorded_.begin());
  }
  if (!running_->ended) retry_at_ = 0;
}

// An output that cannot get its name is lost.
void Supervisor::PublishOutput() {
  RunningStep& step = *running_;
  if (!outputs_.Publish()) step.disk_was_full = step.disk_was_full || step.ended;
  step.publish_at =
      outputs_.are_named() ? 0 : Now() + std::min(Now() - step.began, kPublicationInterval);
}

// After the program has exited: ends background processes, writes the record, notifies the runner.
void Supervisor::FinishIfDone(bool childless) {
  if (!running_ || !running_->ended || Now() < retry_at_) return;
  if (const ChildState children = childless ? ChildState{} : QueryChildren();
      children.has_children) {
    if (!children.has_zombies && running_->kill_at == 0) End(Outcome::kCancelled, kBackgroundGrace);
    return;
  }
  ReadCycles();
  const bool is_certain = running_->end_reason || HasLastCycle(*running_);
  if (!is_certain && Now() < running_->judge_at) return;
  outputs_.FixSizes();
  PublishOutput();
  running_->result.outcome = JudgeOutcome(*running_, cycles_.lost_output());
  Announce();
  CloseGroup();
  auto& result = running_->result;
  result.output_bytes = outputs_.output.Size();
  result.error_bytes = outputs_.errors.Size();
  const auto written = unrecorded_.empty()
                           ? record_.Append(result)
                           : Fail(Error::Code::kExhausted, "cycles not recorded yet");
  if (!written) {
    if (!record_failed_) runner_.Send(PackFrame(FrameKind::kRecordError, written.error().message));
    record_failed_ = true;
    retry_at_ = Now() + kRetryInterval;
    return;
  }
  record_failed_ = false;
  retry_at_ = 0;
  runner_.Send(Pack(result));
  cycles_.Close();
  outputs_.Close();
  running_.reset();
}

void Supervisor::CheckTimers() {
  if (!running_) return;
  const std::int64_t now = Now();
  auto& step = *running_;
  const bool is_paused = step.paused_since != 0;
  if (step.request.time_limit > 0 && !step.ended && !step.end_reason && !is_paused &&
      now - step.began - step.result.paused >= step.request.time_limit) {
    return End(Outcome::kTimeLimit, step.request.grace);
  }
  if (step.kill_at != 0 && now >= step.kill_at) {
    if (step.group) step.group->Kill();
    SignalDescendants(getpid(), SIGKILL);
    step.kill_at = now + kRetryInterval;
  }
  if (step.announce_at != 0 && now >= step.announce_at) Announce();
  if (!step.ended && step.publish_at != 0 && now >= step.publish_at) PublishOutput();
  if (retry_at_ != 0 && now >= retry_at_) ReadCycles();
  LookAtDisk(step, space_, now);
  FinishIfDone();
}

void Supervisor::HandleFrame(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kStart: {
      auto request = Unpack<StartRequest>(frame.body);
      if (!request || running_) {
        return runner_.Send(PackFrame(
            FrameKind::kRefused, running_ ? "a step is already running" : "invalid start request"));
      }
      return Start(std::move(*request));
    }
    case FrameKind::kInherit:
      if (auto inherited = Unpack<InheritedEnvironment>(frame.body)) {
        inherited_ = std::move(inherited->variables);
      }
      return;
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

void Supervisor::HandleSignals() {
  // Equal signals are merged, so one read takes them all.
  signalfd_siginfo info[2] = {};
  ssize_t size = 0;
  while ((size = read(signals_.get(), info, sizeof(info))) < 0 && errno == EINTR) {
  }
  const auto count = static_cast<std::size_t>(std::max<ssize_t>(size, 0)) / sizeof(info[0]);
  const auto is_sigterm = [](const signalfd_siginfo& one) { return one.ssi_signo == SIGTERM; };
  // First: a step that has exited as well may have exited because of it.
  if (std::any_of(info, info + count, is_sigterm)) OnSigterm();
  Reap();
}

void Supervisor::HandleSocket() {
  runner_.Receive();
  while (auto frame = runner_.Next()) HandleFrame(*frame);
  // No runner is left to resume a paused step.
  if (!runner_.connected()) Continue();
}

void Supervisor::Run() {
  while (runner_.connected() || running_) {
    pollfd descriptors[] = {{runner_.descriptor(), POLLIN, 0},
                            {signals_.get(), POLLIN, 0},
                            {cycles_.descriptor(), POLLIN, 0}};
    runner_.Flush();
    const std::int64_t timer = running_ ? NextTimer(*running_, retry_at_) : 0;
    if (poll(descriptors, 3, TimeoutUntil(timer)) < 0) {
      if (errno != EINTR) return;
      continue;
    }
    if (descriptors[1].revents != 0) HandleSignals();
    if (descriptors[2].revents != 0) ReadCycles();
    if (descriptors[0].revents != 0) HandleSocket();
    CheckTimers();
  }
}

int SendRefusal(int socket, const std::string& why) {
  const std::string frame = PackFrame(FrameKind::kRefused, why);
  send(socket, frame.data(), frame.size(), MSG_NOSIGNAL);
  return 1;
}

}  // namespace

int Supervise(int socket, const std::string& path) {
  // Signals of a terminal are handled by the runner.
  DisregardSignals();
  // If a step inherited the socket, the runner would not notice the supervisor's death.
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  auto record = RecordWriter::Create(path);
  if (!record) {
    return SendRefusal(socket, record.error().message + " (check free space and permissions)");
  }
  auto signals = ListenForSignals();
  if (!signals) return SendRefusal(socket, SystemError("cannot create a signalfd", errno).message);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Supervisor(socket, std::move(*record), std::move(signals)).Run();
  return 0;
}

}  // namespace reveza::jobs
