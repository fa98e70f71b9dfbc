#include "runner/engine/engine.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "runner/journal/journal_format.h"
#include "runner/journal/verify_outputs.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

constexpr auto kGatherCommits = 50ms;
constexpr auto kRetryCommit = 500ms;
constexpr const char* kLearned = "learned";  // in the journal: what steps need
constexpr auto kProgressEvery = 250ms;
constexpr auto kLookEvery = 100ms;

}  // namespace

Engine::Engine(EngineParts parts, Observer& observer)
    : parts_(std::move(parts)),
      observer_(observer),
      job_(*parts_.job),
      schedule_(job_),
      pool_(parts_.supervisor, parts_.folder),
      governor_(job_, parts_.request, parts_.cores,
                {.root = parts_.root,
                 .gpu_is_shared = !parts_.gpu_prefix.empty(),
                 .books = parts_.gpu_books,
                 .devices = [this](std::uint32_t step) { return DevicesOf(step); }}),
      live_(std::move(parts_.live)) {}

Engine::Nanoseconds Engine::Now() const {
  return parts_.clock != nullptr ? parts_.clock->Now() : own_clock_.Now();
}

StepReport Engine::ReportOf(std::uint32_t step, std::uint32_t attempt) const {
  return {step, entries_[step].label, attempt, entries_[step].files};
}

Status Engine::Prepare() {
  auto entries = parts_.journal.List();
  if (!entries) return std::unexpected(entries.error());
  // Behind them there may be some that were added since the list was compared; see below.
  if (entries->size() < job_.steps.size()) {
    return Fail(Error::Code::kInternal, "the journal lists other steps than the job has");
  }
  entries->resize(job_.steps.size());
  by_identity_.reserve(entries->size());
  for (std::uint32_t step = 0; step < entries->size(); ++step) {
    by_identity_.emplace(AsText((*entries)[step].identity), step);
  }
  entries_ = std::move(*entries);
  if (const auto learned = parts_.journal.Get(kLearned); learned && *learned) {
    governor_.Restore(**learned);
  }
  for (std::uint32_t step = 0; step < entries_.size(); ++step) TakeState(step);
  if (const auto added = TakeAdded(); !added) return std::unexpected(added.error());
  if (auto limited = PrepareLimits(); !limited) return limited;
  for (const auto& live : live_) {
    const auto known = by_identity_.find(std::string(AsText(live.name.identity)));
    // A step that is in the list no more may end as it likes.
    if (known != by_identity_.end()) schedule_.Start(known->second);
  }
  auto control = Control::Listen(ControlSocket(parts_.folder.id()),
                                 [this](const nlohmann::json& request) { return Answer(request); });
  if (!control) return std::unexpected(control.error());
  control_.emplace(std::move(*control));
  return TakeSignals();
}

Status Engine::PrepareLimits() {
  auto limits = StepLimits::Begin(parts_.request.limits, platform::ProcessEnvironment,
                                  parts_.folder, parts_.root);
  if (!limits) return std::unexpected(limits.error());
  limits_ = std::move(*limits);
  if (!parts_.request.quiet) observer_.OnNote(fmt::format("limits: {}", limits_.words()));
  return parts_.journal.Set(kLimits, limits_.words());
}

void Engine::TakeState(std::uint32_t step) {
  const auto& request = parts_.request;
  switch (entries_[step].state) {
    case StepState::kWaiting:
      return;
    case StepState::kDone:
      schedule_.Start(step);
      schedule_.Finish(step);
      ++summary_.earlier;
      return;
    case StepState::kFailed:
      if (request.retry_failed) return;
      schedule_.Start(step);
      return schedule_.Fail(step);
    case StepState::kUndecided:
      if (request.retries > 0 || request.retry_failed) {
        failures_[step] = 1;
        return;
      }
      if (auto given_up = parts_.journal.GiveUp(entries_[step].identity); !given_up) {
        BeInTrouble(given_up.error());
      }
      schedule_.Start(step);
      return schedule_.Fail(step);
    case StepState::kUnknown:
      if (request.on_unknown == OnUnknown::kRetry) return;
      schedule_.Start(step);
      return schedule_.Hold(step);
  }
}

Status Engine::TakeSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return Fail(Error::Code::kExhausted, "no descriptor for signals");
  return {};
}

bool Engine::Over() const {
  if (pool_.active() != 0 || !live_.empty()) return false;
  return mode_ == Mode::kDraining || mode_ == Mode::kEnding || schedule_.over();
}

Result<Engine::Summary> Engine::Run() {
  if (auto prepared = Prepare(); !prepared) return std::unexpected(prepared.error());
  began_ = Now();
  while (!Over()) {
    Fill();
    if (Over()) break;
    Poll();
    WatchLive();
    Sample();
    Commit(false);
    ShowProgress();
  }
  summary_.tuning = TuningText();
  KeepWhatWasLearned();
  Commit(true);
  // What cannot be written now is still in the records: the next run finds it there.
  if (trouble_) {
    return Fail(trouble_->code,
                fmt::format("{}; what was done is in the records: make room, and the same command "
                            "goes on from there",
                            trouble_->message));
  }
  // Without them the next run looks at more outputs, and reads a longer log: no harm is done.
  Status tidied = MakeOutputsLast();
  if (tidied) tidied = parts_.journal.Checkpoint();
  if (!tidied)
    observer_.OnNote(fmt::format("the journal is not tidied: {}", tidied.error().message));
  observer_.OnProgress(MakeProgress());
  summary_.counts = schedule_.counts();
  summary_.metrics.assign(metrics_.all().begin(), metrics_.all().end());
  const auto& counts = summary_.counts;
  if (counts.ready + counts.blocked + counts.running > 0) {
    summary_.end = End::kInterrupted;
  } else if (counts.failed + counts.skipped > 0) {
    summary_.end = End::kFailed;
  } else {
    summary_.end = counts.held > 0 ? End::kHeld : End::kDone;
  }
  return summary_;
}

void Engine::KeepWhatWasLearned() {
  if (trouble_) return;
  Status kept = parts_.journal.Set(kLearned, governor_.Learned());
  if (kept && !summary_.tuning.empty()) kept = parts_.journal.Set(kTuning, summary_.tuning);
  if (!kept) BeInTrouble(kept.error());
}

void Engine::Poll() {
  std::vector<pollfd> descriptors = {{signals_.get(), POLLIN, 0}};
  pool_.AddTo(descriptors);
  const std::size_t control = descriptors.size();
  if (control_) control_->AddTo(descriptors);
  Nanoseconds until = next_progress_;
  if (parts_.journal.dirty() || reimport_)
    until = std::min(until, std::max(next_commit_, dirty_since_ + kGatherCommits));
  if (!live_.empty()) until = std::min(until, next_look_);
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(std::max(Nanoseconds{0}, until - Now()));
  if (poll(descriptors.data(), descriptors.size(), static_cast<int>(wait.count())) < 0) return;
  // First the workers: what the others ask for is then answered as it is now.
  for (const auto& news : pool_.Handle(descriptors.data() + 1)) HandleNews(news);
  if (descriptors[0].revents != 0) HandleSignals();
  if (control_) control_->Handle(descriptors.data() + control);
}

void Engine::HandleSignals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    const bool again = mode_ == Mode::kDraining || mode_ == Mode::kEnding;
    if (info.ssi_signo == SIGTERM || again) {
      EndAll();
    } else {
      Drain();
    }
  }
}

void Engine::Drain() {
  mode_ = Mode::kDraining;
  const auto active = pool_.active();
  if (active == 0) return;
  observer_.OnNote(
      fmt::format("no further steps; {} that run end first (again to end them now)", active));
}

void Engine::EndAll() {
  const bool again = mode_ == Mode::kEnding;
  mode_ = Mode::kEnding;
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    if (!active) continue;
    active->ending = true;
    pool_.Tell(slot, again ? FrameKind::kKill : FrameKind::kEnd);
  }
  // Those of an earlier runner cannot be told; they end by themselves, and the next run sees it.
  live_.clear();
}

void Engine::HandleNews(const WorkerPool::News& news) {
  for (const auto& frame : news.frames) Handle(news.slot, frame);
  if (news.gone) OnGone(news.slot);
}

void Engine::Handle(std::size_t slot, const Frame& frame) {
  auto& active = pool_.slots()[slot].active;
  if (!active) return;
  switch (frame.kind) {
    case FrameKind::kStarted: {
      std::uint32_t pid = 0;
      if (frame.body.size() == sizeof(pid)) std::memcpy(&pid, frame.body.data(), sizeof(pid));
      active->pid = static_cast<pid_t>(pid);
      said_not_started_.clear();
      pause_before_start_ = {};
      return;
    }
    case FrameKind::kCycle: {
      const auto cycle = UnpackCycle(frame.body);
      if (!cycle) return;
      active->last_cycle = std::max(active->last_cycle, cycle->number);
      // When it was heard of: the clock of the day, which it carries, may be set meanwhile.
      const auto before = std::exchange(active->last_cycle_at, Now());
      if (before.count() != 0) {
        governor_.CycleEnded(cycle->number, active->last_cycle_at - before);
      }
      const auto noted = parts_.journal.Note(*cycle);
      if (!noted) BeInTrouble(noted.error());
      if (const auto line =
              ParseCycleLine(fmt::format("reveza step {} {}", cycle->number, cycle->metrics))) {
        metrics_.Add(cycle->number, line->metrics);
      }
      return observer_.OnCycle(ReportOf(active->step, active->name.attempt), *cycle);
    }
    case FrameKind::kResult:
      if (const auto result = UnpackResult(frame.body)) OnResult(slot, *result);
      return;
    case FrameKind::kNoGroup:
      active->group.clear();
      if (!std::exchange(said_no_group_, true)) {
        observer_.OnNote(fmt::format("step {} has no control group, and is watched instead: {}",
                                     active->label, frame.body));
      }
      return;
    case FrameKind::kGroup:
      if (const auto end = UnpackGroup(frame.body)) {
        active->group_end = *end;
        active->group_told = true;
      }
      return;
    case FrameKind::kLimits:
      return active->witness.TakeLimits(frame.body);
    case FrameKind::kTrouble:
      return BeInTrouble({Error::Code::kExhausted, frame.body});
    case FrameKind::kRefused:
      observer_.OnNote(fmt::format("step {} was not begun: {}", active->label, frame.body));
      no_start_before_ = Now() + kRetryCommit;
      schedule_.Requeue(active->step);
      return pool_.Clear(slot);
    default:
      return;
  }
}

// The supervisor died. What it wrote down, and whether its step still lives, says its record.
void Engine::OnGone(std::size_t slot) {
  const auto active = pool_.slots()[slot].active;
  const auto remains = pool_.Bury(slot);
  if (!active) return;
  std::error_code error;
  if (!std::filesystem::exists(remains.record, error) && !error) {
    observer_.OnNote(fmt::format(
        "the supervisor of step {} {} before it had said anything; the step was not begun, and "
        "has another turn",
        active->label, remains.end));
    no_start_before_ = Now() + kRetryCommit;
    return schedule_.Requeue(active->step);
  }
  observer_.OnNote(fmt::format("the supervisor of step {} {}", active->label, remains.end));
  live_.push_back({active->name, active->since, remains.record});
  next_look_ = Nanoseconds{0};
}

void Engine::WatchLive() {
  if (live_.empty() || Now() < next_look_) return;
  next_look_ = Now() + kLookEvery;
  std::vector<LiveAttempt> left;
  for (auto& live : std::exchange(live_, {})) {
    Imported imported;
    const auto held = IsHeld(live.record.string());
    if (!held && std::exchange(said_not_seen_, held.error().message) != held.error().message) {
      observer_.OnNote(held.error().message);
    }
    // While nobody can tell, it lives.
    if (held.value_or(true)) {
      left.push_back(std::move(live));
      continue;
    }
    if (auto done = ImportRecord(live.record, parts_.journal, imported); !done) {
      BeInTrouble(done.error());
      left.push_back(std::move(live));
      continue;
    }
    const auto known = by_identity_.find(std::string(AsText(live.name.identity)));
    if (known == by_identity_.end()) continue;
    const auto attempts = parts_.journal.Attempts(live.name.identity);
    if (!attempts) {
      BeInTrouble(attempts.error());
      left.push_back(std::move(live));
      continue;
    }
    const auto same = std::ranges::find_if(
        *attempts, [&](const AttemptEntry& entry) { return entry.result.name == live.name; });
    AttemptResult result;
    result.name = live.name;
    if (same != attempts->end()) result = same->result;
    auto& entry = entries_[known->second];
    entry.attempts = std::max(entry.attempts, live.name.attempt);
    const bool again = Settle(known->second, result, 0);
    observer_.OnEnd(ReportOf(known->second, live.name.attempt), result, again, "");
  }
  live_.insert(live_.end(), left.begin(), left.end());
}

// What the journal could not take is in the records; from there it comes when there is room again.
void Engine::Commit(bool now) {
  auto& journal = parts_.journal;
  if (!journal.dirty() && !reimport_) {
    dirty_since_ = Nanoseconds{0};
    return;
  }
  if (dirty_since_ == Nanoseconds{0}) dirty_since_ = Now();
  if (!now && (Now() < next_commit_ || Now() - dirty_since_ < kGatherCommits)) return;
  // Outputs first: what is recorded as done is there to be read.
  Status committed = parts_.request.durable && !reimport_ ? MakeOutputsLast() : Status{};
  if (committed) committed = journal.Commit();
  if (committed && reimport_) {
    const auto imported = ImportRecords(parts_.folder, journal, Supervisors::kOwn);
    if (!imported) committed = std::unexpected(imported.error());
  }
  if (!committed) return BeInTrouble(committed.error());
  reimport_ = false;
  trouble_.reset();
  dirty_since_ = Nanoseconds{0};
}

void Engine::BeInTrouble(const Error& error) {
  if (!trouble_) {
    observer_.OnNote(
        fmt::format("the journal cannot be written ({}); nothing new is started until "
                    "it can be",
                    error.message));
  }
  trouble_ = error;
  reimport_ = true;
  next_commit_ = Now() + kRetryCommit;
}

void Engine::ShowProgress() {
  if (Now() < next_progress_) return;
  next_progress_ = Now() + kProgressEvery;
  observer_.OnProgress(MakeProgress());
}

}  // namespace reveza::runner
