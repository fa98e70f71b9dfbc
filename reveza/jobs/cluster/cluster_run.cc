#include "reveza/jobs/cluster/cluster_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/units.h"
#include "reveza/jobs/engine/status_report.h"

namespace reveza::jobs {
namespace {

using namespace std::chrono_literals;

constexpr auto kProgressInterval = 250ms;
constexpr auto kTouchInterval = 10s;

}  // namespace

ClusterRun::ClusterRun(EngineParts parts, ClusterSettings settings, Observer& observer)
    : parts_(std::move(parts)),
      settings_(std::move(settings)),
      observer_(observer),
      job_(*parts_.job),
      schedule_(job_),
      retries_(parts_.request.retries, parts_.request.memory_retries) {}

Status ClusterRun::Prepare() {
  if (!parts_.live.empty()) {
    return Fail(Error::Code::kUnavailable,
                "{} of an earlier run on this machine {} still running; run the same command "
                "without --on until they have ended",
                Plural(parts_.live.size(), "step"), parts_.live.size() == 1 ? "is" : "are");
  }
  std::error_code error;
  std::filesystem::create_directories(settings_.folder, error);
  if (error || access(settings_.folder.c_str(), W_OK | X_OK) != 0) {
    return Fail(Error::Code::kPermission,
                "--shared: cannot write {}: {}; choose a folder that this machine and all "
                "nodes can write",
                settings_.folder.string(),
                error ? error.message() : std::string("permission denied"));
  }
  ASSIGN_OR_RETURN(auto owner, OwnerFile::Claim(settings_.folder / "runner.owner",
                                                "the job in " + settings_.folder.string()));
  owner_.emplace(std::move(owner));
  entries_ = std::exchange(parts_.entries, {});
  if (entries_.empty()) {
    ASSIGN_OR_RETURN(entries_, parts_.journal.List());
  }
  by_identity_.Build(entries_);
  ASSIGN_OR_RETURN(const auto attempts, parts_.journal.AttemptsAfter(0));
  for (const AttemptEntry& attempt : attempts) {
    const auto step = by_identity_.Find(entries_, attempt.result.name.identity);
    if (step) Learn(*step, attempt);
  }
  RETURN_IF_ERROR(AdoptArrays());
  for (std::uint32_t step = 0; step < entries_.size(); ++step) RestoreState(step);
  run_.began = WallNow();
  RETURN_IF_ERROR(parts_.journal.Set(kLimits, "by Slurm"));
  ASSIGN_OR_RETURN(auto control, ControlServer::Listen(ControlSocket(parts_.folder.id()),
                                                       [this](const nlohmann::json& request) {
                                                         return Answer(request);
                                                       }));
  control_.emplace(std::move(control));
  return InstallSignalHandlers();
}

// Steps of arrays that are open are running already.
void ClusterRun::RestoreState(std::uint32_t step) {
  if (schedule_.state(step) == Schedule::State::kRunning) return;
  const auto& request = parts_.request;
  switch (entries_[step].state) {
    case StepState::kWaiting:
      return;
    case StepState::kDone:
      schedule_.Start(step);
      schedule_.Finish(step);
      ++summary_.done_before;
      return;
    case StepState::kFailed:
      if (request.retry_failed) return;
      schedule_.Start(step);
      return schedule_.Fail(step);
    case StepState::kUndecided:
      if (request.retries > 0 || request.retry_failed) return retries_.AddEarlierFailure(step);
      static_cast<void>(parts_.journal.MarkFailed(entries_[step].identity));
      schedule_.Start(step);
      return schedule_.Fail(step);
    case StepState::kUnknown:
      if (request.on_unknown == OnUnknown::kRetry) return;
      schedule_.Start(step);
      return schedule_.Hold(step);
  }
}

Status ClusterRun::InstallSignalHandlers() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return Fail(Error::Code::kExhausted, "signalfd: no file descriptor left");
  return {};
}

bool ClusterRun::IsFinished() const {
  if (mode_ == Mode::kLeaving) return true;
  return mode_ == Mode::kRunning ? schedule_.finished() : arrays_.empty();
}

Result<ClusterRun::Summary> ClusterRun::Run() {
  RETURN_IF_ERROR(Prepare());
  began_ = clock_.Now();
  while (!IsFinished()) {
    RETURN_IF_ERROR(Query());
    RETURN_IF_ERROR(Look());
    RETURN_IF_ERROR(SubmitReady());
    RETURN_IF_ERROR(parts_.journal.Commit());
    if (clock_.Now() >= next_touch_) {
      next_touch_ = clock_.Now() + kTouchInterval;
      static_cast<void>(owner_->Touch());
    }
    ShowProgress();
    if (!IsFinished()) Wait();
  }
  return Finish();
}

void ClusterRun::Wait() {
  std::vector<pollfd> descriptors = {{signals_.get(), POLLIN, 0}};
  control_->AddTo(descriptors);
  const Nanoseconds until = std::min({next_look_, next_query_, next_progress_});
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(std::max(Nanoseconds{0}, until - clock_.Now()));
  if (poll(descriptors.data(), descriptors.size(), static_cast<int>(wait.count())) < 0) return;
  if (descriptors[0].revents != 0) HandleSignals();
  control_->Handle(descriptors.data() + 1);
}

void ClusterRun::HandleSignals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (run_.reason.empty()) {
      run_.reason =
          fmt::format("SIG{} was received", sigabbrev_np(static_cast<int>(info.ssi_signo)));
    }
    if (info.ssi_signo != SIGINT || mode_ == Mode::kEnding) {
      // Of the runner only: a login node may be restarted while the steps run on others.
      mode_ = Mode::kLeaving;
      if (!arrays_.empty()) {
        Report("the steps go on without this runner; the same command continues the job");
      }
    } else if (mode_ == Mode::kDraining) {
      CancelAll();
    } else {
      Drain();
    }
  }
}

void ClusterRun::Drain() {
  mode_ = Mode::kDraining;
  if (arrays_.empty()) return;
  Report(fmt::format("no further steps start; waiting for {} (interrupt again to cancel)",
                     Plural(CountTasks(TaskState::kRunning), "running task")));
  for (const Array& array : arrays_) {
    for (const auto what : {Slurm::Cancel::kPending, Slurm::Cancel::kInterrupt}) {
      const auto done = settings_.slurm.CancelTasks(array.name, what);
      if (!done) Report(done.error().message);
    }
  }
  next_query_ = {};
}

void ClusterRun::CancelAll() {
  mode_ = Mode::kEnding;
  for (const Array& array : arrays_) {
    const auto done = settings_.slurm.CancelTasks(array.name, Slurm::Cancel::kAll);
    if (!done) Report(done.error().message);
  }
  next_query_ = {};
}

Result<ClusterRun::Summary> ClusterRun::Finish() {
  summary_.counts = schedule_.counts();
  const auto& counts = summary_.counts;
  if (counts.ready + counts.blocked + counts.running > 0) {
    summary_.end = halted_ ? RunEnd::kHalted : RunEnd::kInterrupted;
  } else if (counts.failed + counts.skipped > 0) {
    summary_.end = RunEnd::kFailed;
  } else {
    summary_.end = counts.held > 0 ? RunEnd::kHeld : RunEnd::kDone;
  }
  run_.end = summary_.end;
  run_.ended = WallNow();
  run_.skipped = counts.skipped;
  run_.waiting = counts.ready + counts.blocked + counts.running;
  // A run that found nothing to do leaves the record of the one that did it.
  if (summary_.attempts > 0 || run_.waiting > 0) {
    RETURN_IF_ERROR(SaveRunRecord());
  }
  if (arrays_.empty()) RETURN_IF_ERROR(NoteArrays(parts_.journal, {}));
  RETURN_IF_ERROR(parts_.journal.Checkpoint());
  observer_.OnProgress(CurrentProgress());
  return summary_;
}

Status ClusterRun::SaveRunRecord() {
  return parts_.journal.Set(kRunRecordKey, FormatRunRecord(run_));
}

void ClusterRun::ReportOnce(const std::string& note) {
  if (std::exchange(reported_, note) != note) Report(note);
}

void ClusterRun::ShowProgress() {
  if (clock_.Now() < next_progress_) return;
  next_progress_ = clock_.Now() + kProgressInterval;
  observer_.OnProgress(CurrentProgress());
}

}  // namespace reveza::jobs
