#include "reveza/jobs/engine/engine.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/base/units.h"
#include "reveza/jobs/engine/orphans.h"
#include "reveza/jobs/engine/runner.h"
#include "reveza/jobs/journal/journal_format.h"

namespace reveza::jobs {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLearned =
    "learned";  // journal key: what Governor::SerializeLearned returned
constexpr auto kProgressInterval = 250ms;

// Ends attempts of a previous runner. Returns those that end.
std::vector<LiveAttempt> EndOrphans(const std::vector<LiveAttempt>& attempts) {
  std::vector<LiveAttempt> ending;
  std::ranges::copy_if(attempts, std::back_inserter(ending),
                       [](const LiveAttempt& attempt) { return EndOrphan(attempt.record); });
  return ending;
}

// Returns whether the journal says how the last run ended.
bool HasEnded(Journal& journal) {
  const auto kept = journal.Get(kRunRecordKey);
  const auto record = kept && *kept ? ParseRunRecord(**kept) : std::nullopt;
  return record && record->end;
}

}  // namespace

Engine::Engine(EngineParts parts, Observer& observer)
    : parts_(std::move(parts)),
      refusals_(parts_.root),
      observer_(observer),
      job_(*parts_.job),
      schedule_(job_),
      pool_(parts_.supervisor, parts_.folder),
      requests_({.job = job_,
                 .expander = *parts_.expander,
                 .environment = parts_.environment,
                 .gpu_prefix = parts_.gpu_prefix,
                 .outputs = Outputs(),
                 .cores = parts_.cores}),
      governor_(
          job_, parts_.request, parts_.cores,
          {.root = parts_.root,
           .gpu_is_shared = !parts_.gpu_prefix.empty(),
           .ledger = parts_.gpu_ledger,
           .devices =
               [this](std::uint32_t step) { return requests_.DevicesOf(step, pool_.FreeSlot()); },
           .memory =
               [this](std::uint32_t step) {
                 // A step added later may have an invalid size: its need is learned.
                 return parts_.expander->Memory(job_.steps[step]).value_or(std::nullopt);
               },
           .max_steps = ReadStepsBound()}),
      committer_(parts_.journal, parts_.folder, Outputs(), parts_.request.durable,
                 [this](const std::string& note) { observer_.OnNote(note); }),
      adopted_(std::move(parts_.live)),
      retries_(parts_.request.retries, parts_.request.memory_retries) {}

Engine::Nanoseconds Engine::Now() const {
  return parts_.clock != nullptr ? parts_.clock->Now() : own_clock_.Now();
}

Status Engine::Prepare() {
  ASSIGN_OR_RETURN(list_, TakeList(parts_));
  if (const auto learned = parts_.journal.Get(kLearned); learned && *learned) {
    governor_.Restore(**learned);
  }
  for (std::uint32_t step = 0; step < list_.size(); ++step) RestoreState(step);
  RETURN_IF_ERROR(AddNewlyListedSteps());
  run_.began = WallNow();
  RETURN_IF_ERROR(CheckEarlierGoal());
  RETURN_IF_ERROR(PrepareLimits());
  for (const auto& live : adopted_.all()) {
    if (const auto step = StepOf(live.name.identity)) schedule_.Start(*step);
  }
  ASSIGN_OR_RETURN(auto control, ControlServer::Listen(ControlSocket(parts_.folder.id()),
                                                       [this](const nlohmann::json& request) {
                                                         return Answer(request);
                                                       }));
  control_.emplace(std::move(control));
  ASSIGN_OR_RETURN(signals_, OpenRunnerSignals());
  return {};
}

Status Engine::PrepareLimits() {
  ASSIGN_OR_RETURN(limits_, StepLimits::Create(parts_.request.limits, platform::ProcessEnvironment,
                                               parts_.folder, parts_.root));
  if (!parts_.request.quiet) observer_.OnNote(fmt::format("limits: {}", limits_.description()));
  return parts_.journal.Set(kLimits, limits_.description());
}

void Engine::RestoreCycles(std::uint32_t step) {
  const auto& cycles = CommandOf(step).cycles;
  if (!cycles) return;
  const auto count = parts_.journal.CountCycles(list_[step].identity);
  cycles_.Set(step, count ? count->recorded : 0, cycles->count);
  if (list_[step].state == StepState::kDone) cycles_.Finish(step);
}

void Engine::RestoreState(std::uint32_t step) {
  RestoreCycles(step);
  const auto restored =
      RestoreStep(parts_.request, list_[step], step, parts_.journal, schedule_, retries_);
  if (!restored) EnterDegradedMode(restored.error());
  if (list_[step].state == StepState::kDone) ++summary_.done_before;
}

bool Engine::IsFinished() const {
  if (pool_.active() != 0 || !adopted_.empty()) return false;
  return mode_ == Mode::kDraining || mode_ == Mode::kEnding || schedule_.finished();
}

Result<Engine::Summary> Engine::Run() {
  RETURN_IF_ERROR(Prepare());
  began_ = Now();
  while (!IsFinished()) {
    StartReadySteps();
    RecordEnded();
    committer_.Commit(Now(), false);
    if (IsFinished()) break;
    Poll();
    PollAdoptedAttempts();
    SampleUsage();
    Sample();
    ExportShard(/*last=*/false);
    ShowProgress();
  }
  return Finish();
}

Result<Engine::Summary> Engine::Finish() {
  RecordEnded();
  summary_.tuning = TuningText(governor_, began_);
  SaveLearned();
  Conclude();
  // A run that found nothing to do leaves the record of the one that did it.
  if (summary_.attempts > 0 || !HasEnded(parts_.journal)) SaveRunRecord();
  NoteRecords();
  committer_.Commit(Now(), true);
  // What cannot be written now is still in the records, where the next run finds it.
  if (const auto& error = committer_.error()) {
    return Fail(error->code,
                "{}; all results are in the supervisors' records: free some space and run the same "
                "command to continue",
                error->message);
  }
  // Optional: without it the next run verifies more outputs and reads a longer log.
  Status tidied = committer_.SyncOutputs();
  if (tidied) tidied = parts_.journal.Checkpoint();
  ExportShard(/*last=*/true);
  if (!tidied) {
    observer_.OnNote(fmt::format("cannot checkpoint the journal: {}", tidied.error().message));
  }
  observer_.OnProgress(CurrentProgress());
  return summary_;
}

// The next run need not read the records of supervisors that have told everything.
void Engine::NoteRecords() {
  if (committer_.error() || pool_.active() != 0) return;
  std::vector<std::filesystem::path> records;
  for (const auto& slot : pool_.slots()) {
    if (slot.worker) records.push_back(slot.worker->record());
  }
  if (auto noted = NoteImported(parts_.journal, records); !noted) EnterDegradedMode(noted.error());
}

void Engine::Conclude() {
  summary_.counts = schedule_.counts();
  summary_.metrics.assign(metrics_.all().begin(), metrics_.all().end());
  summary_.end = EndOf(summary_.counts, goal_met_ ? RunEnd::kGoalMet
                                        : halted_ ? RunEnd::kHalted
                                                  : RunEnd::kInterrupted);
  RecordEnd(summary_.counts, summary_.end, run_);
}

void Engine::SaveRunRecord() {
  if (committer_.error()) return;
  const auto saved = parts_.journal.Set(kRunRecordKey, FormatRunRecord(run_));
  if (!saved) EnterDegradedMode(saved.error());
}

void Engine::ExportShard(bool last) {
  auto& to = parts_.shard_export;
  if (!to || (!last && !to->IsDue(Now()))) return;
  const auto written = to->Write(parts_.folder, parts_.journal, Now());
  if (written) {
    reported_no_export_ = false;
  } else if (written.error().code == Error::Code::kUnavailable && !last) {
    if (mode_ == Mode::kEnding) return;
    // It runs the same steps.
    run_.reason = written.error().message;
    observer_.OnNote(run_.reason + "; ending the running steps");
    CancelAll();
  } else if (!std::exchange(reported_no_export_, true) || last) {
    observer_.OnNote(fmt::format("cannot copy the journal to {}: {}{}", to->copy().string(),
                                 written.error().message,
                                 last ? "; the same command tries again" : "; will retry"));
  }
}

void Engine::SaveLearned() {
  if (committer_.error()) return;
  Status saved = parts_.journal.Set(kLearned, governor_.SerializeLearned());
  if (saved && !summary_.tuning.empty()) saved = parts_.journal.Set(kTuning, summary_.tuning);
  if (!saved) EnterDegradedMode(saved.error());
}

void Engine::Poll() {
  std::vector<pollfd> descriptors = {{signals_.get(), POLLIN, 0}};
  pool_.AddTo(descriptors);
  const std::size_t control = descriptors.size();
  if (control_) control_->AddTo(descriptors);
  Nanoseconds until = next_progress_;
  if (governor_.UsageInterval() != Nanoseconds::max()) {
    until = std::min(until, next_usage_sample_);
  }
  if (waits_for_memory_) until = std::min(until, next_memory_read_);
  if (const auto commit = committer_.next_commit()) until = std::min(until, *commit);
  if (!adopted_.empty()) until = std::min(until, adopted_.next_poll());
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(std::max(Nanoseconds{0}, until - Now()));
  if (poll(descriptors.data(), descriptors.size(), static_cast<int>(wait.count())) < 0) return;
  // Workers first, so that control requests see their latest state.
  for (const auto& event : pool_.Handle(descriptors.data() + 1)) HandleEvent(event);
  if (descriptors[0].revents != 0) HandleSignals();
  if (control_) control_->Handle(descriptors.data() + control);
}

void Engine::HandleSignals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    const bool again = mode_ == Mode::kDraining || mode_ == Mode::kEnding;
    if (run_.reason.empty())
      run_.reason =
          fmt::format("SIG{} was received", sigabbrev_np(static_cast<int>(info.ssi_signo)));
    if (info.ssi_signo == SIGTERM || again) {
      CancelAll();
    } else {
      Drain();
    }
  }
}

void Engine::Drain() {
  mode_ = Mode::kDraining;
  const auto active = pool_.active() + adopted_.all().size();
  if (active == 0) return;
  observer_.OnNote(
      fmt::format("no further steps start; waiting for {} running (interrupt again to cancel)",
                  Plural(active, "step")));
}

void Engine::CancelAll() {
  const bool again = mode_ == Mode::kEnding;
  mode_ = Mode::kEnding;
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    if (!active) continue;
    active->ending = true;
    pool_.Send(slot, again ? FrameKind::kKill : FrameKind::kEnd);
  }
  // The next run imports the results of those that go on.
  std::vector<LiveAttempt> ending;
  if (!again) ending = EndOrphans(adopted_.all());
  const std::size_t left = again ? 0 : adopted_.all().size() - ending.size();
  if (left > 0) {
    observer_.OnNote(fmt::format("{} of the previous runner cannot be ended from here and {} on",
                                 Plural(left, "step"), left == 1 ? "goes" : "go"));
  }
  adopted_.Clear();
  for (auto& attempt : ending) adopted_.Add(std::move(attempt));
}

EngineView Engine::View(std::span<const RunningStep> running,
                        const Governor::Counts& by_lane) const {
  constexpr const char* kStates[] = {"running", "paused", "stopping", "stopping"};
  return {.id = parts_.folder.id(),
          .job = job_,
          .schedule = schedule_,
          .pool = pool_,
          .governor = governor_,
          .metrics = metrics_,
          .cycles = cycles_,
          .running = running,
          .running_by_lane = by_lane,
          .state = kStates[static_cast<int>(mode_)],
          .limits = limits_.description(),
          .waiting_reason = waiting_reason_,
          .done_before = summary_.done_before,
          .ended_here = ended_here_,
          .now = Now(),
          .began = began_};
}

Progress Engine::CurrentProgress() const {
  const auto running = Running();
  const auto by_lane = RunningByLane();
  return MakeProgress(View(running, by_lane));
}

void Engine::ShowProgress() {
  if (Now() < next_progress_) return;
  next_progress_ = Now() + kProgressInterval;
  observer_.OnProgress(CurrentProgress());
}

}  // namespace reveza::jobs
