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
#include "reveza/jobs/engine/runner.h"
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
  ASSIGN_OR_RETURN(list_, TakeList(parts_));
  RETURN_IF_ERROR(AppendListedSteps(parts_, list_));
  schedule_.AddNewSteps();
  ASSIGN_OR_RETURN(const auto attempts, parts_.journal.AttemptsAfter(0));
  for (const AttemptEntry& attempt : attempts) {
    const auto step = list_.Find(attempt.result.name.identity);
    if (step) Learn(*step, attempt);
  }
  RETURN_IF_ERROR(AdoptArrays());
  RETURN_IF_ERROR(NoteEngine(settings_.folder, settings_.engine->kind()));
  for (std::uint32_t step = 0; step < list_.size(); ++step) {
    RETURN_IF_ERROR(RestoreState(step));
  }
  run_.began = WallNow();
  RETURN_IF_ERROR(parts_.journal.Set(kLimits, fmt::format("by {}", settings_.engine->name())));
  ASSIGN_OR_RETURN(auto control, ControlServer::Listen(ControlSocket(parts_.folder.id()),
                                                       [this](const nlohmann::json& request) {
                                                         return Answer(request);
                                                       }));
  control_.emplace(std::move(control));
  ASSIGN_OR_RETURN(signals_, OpenRunnerSignals());
  return {};
}

Status ClusterRun::RestoreState(std::uint32_t step) {
  if (list_[step].state == StepState::kDone) ++summary_.done_before;
  // A step of an array that is open.
  if (schedule_.state(step) == Schedule::State::kRunning) return {};
  return RestoreStep(parts_.request, list_[step], step, parts_.journal, schedule_, retries_);
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
      const Status touched = owner_->Touch();
      if (!touched && touched.error().code == Error::Code::kUnavailable) {
        run_.reason = touched.error().message;
        Report(run_.reason);
        mode_ = Mode::kLeaving;
      }
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
    const auto done = settings_.engine->Drain(array.place);
    if (!done) Report(done.error().message);
  }
  next_query_ = {};
}

void ClusterRun::CancelAll() {
  mode_ = Mode::kEnding;
  for (const Array& array : arrays_) {
    const auto done = settings_.engine->Cancel(array.place);
    if (!done) Report(done.error().message);
  }
  next_query_ = {};
}

Result<ClusterRun::Summary> ClusterRun::Finish() {
  summary_.counts = schedule_.counts();
  summary_.end = EndOf(summary_.counts, halted_ ? RunEnd::kHalted : RunEnd::kInterrupted);
  RecordEnd(summary_.counts, summary_.end, run_);
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
