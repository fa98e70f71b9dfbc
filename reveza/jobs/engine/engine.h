// The runner: one loop that starts steps, receives their results, journals them and decides what
// runs next. Not thread-safe; Run() occupies the calling thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "common/platform/clock.h"
#include "common/platform/process_table.h"
#include "reveza/jobs/decide/governor.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/run_request.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/cycle_progress.h"
#include "reveza/jobs/engine/journal_committer.h"
#include "reveza/jobs/engine/schedule.h"
#include "reveza/jobs/engine/shard_export.h"
#include "reveza/jobs/engine/status_report.h"
#include "reveza/jobs/engine/step_limits.h"
#include "reveza/jobs/engine/step_list.h"
#include "reveza/jobs/engine/step_request.h"
#include "reveza/jobs/engine/worker_pool.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/report/progress_text.h"
#include "reveza/jobs/report/run_record.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

// The events of a running job, for its display: terminal, log or JSON lines.

// Identifies an attempt.
struct StepReport {
  std::uint32_t step = 0;  // index in the job
  std::string label;       // "seed=57"
  std::uint32_t attempt = 0;
  std::string files;  // path of its outputs without ".out" and ".err"
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void OnStart(const StepReport& report) = 0;
  // `will_retry`: another attempt follows. `explanation` may be empty.
  virtual void OnEnd(const StepReport& report, const AttemptResult& result, bool will_retry,
                     std::string_view explanation) = 0;
  virtual void OnCycle(const StepReport& report, const CycleResult& cycle) = 0;
  // Called a few times per second and once at the end.
  virtual void OnProgress(const Progress& progress) = 0;
  // A message for the user, one line.
  virtual void OnNote(std::string_view line) = 0;
};

// Journal key: how the last run enforced memory limits, for the user.
inline constexpr const char* kLimits = "limits";
// Journal key: the tuning text of the last run.
inline constexpr const char* kTuning = "tuning";

struct EngineParts {
  Job* job = nullptr;                // outlives the engine; grows when steps are added
  Expander* expander = nullptr;      // of `job`; outlives the engine, replaced when steps are added
  std::vector<Identity> identities;  // of the job's steps, in order
  RunRequest request;
  JobFolder folder;  // locked by the caller
  Journal journal;   // records imported, list set
  std::vector<LiveAttempt> live;
  std::filesystem::path supervisor;      // executable, started once per worker
  std::vector<std::string> environment;  // "NAME=value", of every step
  double cores = 1;                      // usable by all steps together
  // Prepended to the command of a step that claims GPU memory, to share the GPU; may be empty.
  std::vector<std::string> gpu_prefix{};
  // Queries the daemon that shares the GPUs; null: steps do not share them.
  std::function<std::optional<GpuLedger>()> gpu_ledger{};
  std::optional<ShardExport> shard_export{};
  // The journal's list, if it was read since it last changed; else empty.
  StepList list{};
  std::filesystem::path root = "/";        // of the files that describe the machine
  const platform::Clock* clock = nullptr;  // outlives the engine; null: the machine's
};

class Engine {
 public:
  using RunEnd = jobs::RunEnd;
  struct Summary {
    RunEnd end = RunEnd::kDone;
    Schedule::Counts counts;
    std::uint64_t done_before = 0;  // by earlier runs
    std::uint64_t attempts = 0;
    std::vector<NamedSummary> metrics;
    std::string tuning;  // measurements and decisions, if the number of workers was tuned
  };

  Engine(EngineParts parts, Observer& observer);

  // Runs until nothing is left to do, or until stopped by SIGINT, SIGTERM, SIGHUP or the control
  // socket. Fails if the run cannot begin or the journal can no longer be written.
  Result<Summary> Run();

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  enum class Mode { kRunning, kPaused, kDraining, kEnding };

  // Startup and the loop (engine.cc).
  Status Prepare();
  void RestoreState(std::uint32_t step);
  void RestoreCycles(std::uint32_t step);
  Status PrepareLimits();
  bool IsFinished() const;
  void Poll();
  void HandleSignals();
  void Drain();
  void CancelAll();
  Result<Summary> Finish();
  void SaveLearned();
  // Copies the journal to other machines if that is due, or if this is the last time.
  void ExportShard(bool last);
  void NoteRecords();
  // Determines how the run ended.
  void Conclude();
  void SaveRunRecord();
  void ShowProgress();
  EngineView View(std::span<const RunningStep> running, const Governor::Counts& by_lane) const;
  Progress CurrentProgress() const;
  Nanoseconds Now() const;

  // Starting steps (engine_steps.cc).
  void StartReadySteps();
  // Starts or rejects one step. Returns false if none may start now.
  bool StartNext();
  Status Start(std::uint32_t step, const Need& need, const std::optional<nvml::Uuid>& gpu);
  void Reject(std::uint32_t step, const std::string& reason);
  void MarkGpuSharing(ActiveAttempt& active);
  bool IsLastMemoryRetry(std::uint32_t step) const;
  std::vector<RunningStep> Running() const;
  Governor::Counts RunningByLane() const;
  std::array<std::uint64_t, kLanes> WaitingByLane() const;
  std::optional<std::uint32_t> StepOf(const Identity& identity) const;
  const Command& CommandOf(std::uint32_t step) const {
    return job_.commands[job_.steps[step].command];
  }
  std::filesystem::path Outputs() const;
  StepReport ReportOf(std::uint32_t step, std::uint32_t attempt) const;

  // Events of running attempts (engine_events.cc).
  void HandleEvent(const WorkerPool::Event& event);
  void Handle(std::size_t slot, const Frame& frame);
  void OnStarted(ActiveAttempt& active, const Frame& frame);
  void OnCycle(ActiveAttempt& active, const CycleResult& cycle);
  void OnResult(std::size_t slot, AttemptResult result);
  // Writes the ended attempts into the journal that are not there yet.
  void RecordEnded();
  void OnSupervisorExit(std::size_t slot);
  void PollAdoptedAttempts();
  // Finishes, requeues, holds or fails the step of an ended attempt. Returns whether it is retried.
  bool RecordOutcome(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle);
  bool ShouldRetry(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle);
  void UpdateBriefCommands(const ActiveAttempt& active, const AttemptResult& result);
  void CheckHalt();
  // Stops the job if the metric meets the request's goal. `label`: of the step that reported it.
  void CheckGoal(const Metric& metric, std::string_view label);
  Status CheckEarlierGoal();
  void EnterDegradedMode(const Error& error) { committer_.EnterDegradedMode(error, Now()); }

  // Sampling of running steps (engine_steps.cc).
  void Sample();
  void SampleUsage();
  // Returns the kernel's counter as of at most a second ago: reading it takes longer than starting
  // a small step.
  std::optional<std::uint64_t> OutOfMemoryKills();
  bool RefreshMemory();
  void EnforceLimit(std::size_t slot);
  void RelievePressure();

  // Control requests (engine_requests.cc).
  nlohmann::json Answer(const nlohmann::json& request);
  // Requeues failed or held steps, all or those listed. Returns how many.
  Result<std::uint64_t> Retry(const nlohmann::json& steps);
  // Picks up steps that were added to the journal. Returns how many.
  Result<std::uint64_t> AddNewlyListedSteps();
  nlohmann::json Pause(bool pause);
  // Returns how many steps keep running while the job is paused, because they may hold a GPU.
  std::uint64_t RunningOnGpu() const;
  std::string PausedText() const;

  EngineParts parts_;
  TaskRefusals refusals_;
  Observer& observer_;
  Job& job_;
  Schedule schedule_;
  StepLimits limits_;  // outlives the supervisors
  WorkerPool pool_;
  StepRequestBuilder requests_;
  Governor governor_;
  JournalCommitter committer_;
  AdoptedAttempts adopted_;
  RetryPolicy retries_;
  StartBackoff backoff_;
  std::optional<ControlServer> control_;
  UniqueFd signals_;
  platform::MonotonicClock own_clock_;
  Mode mode_ = Mode::kRunning;
  bool halted_ = false;    // because of failed steps
  bool goal_met_ = false;  // halted because of a metric

  struct EndedAttempt {
    AttemptResult result;
    AttemptExtra extra;
    std::filesystem::path files;
  };
  // Successes that the journal lacks until the next steps have been started.
  std::vector<EndedAttempt> unrecorded_;
  StepList list_;
  std::set<std::uint32_t> brief_commands_;  // whose last step finished at once
  CycleProgress cycles_;
  const BootId boot_ = ReadBootId();
  std::optional<std::uint64_t> kills_;
  std::optional<Nanoseconds> kills_read_;  // when
  bool reported_no_group_ = false;
  bool reported_no_export_ = false;
  Metrics metrics_;
  Summary summary_;
  RunRecord run_;
  std::string waiting_reason_;
  std::uint64_t ended_here_ = 0;  // attempts in this run
  Nanoseconds cpu_of_ended_{0};   // CPU time of ended attempts

  Nanoseconds began_{0};
  Nanoseconds next_sample_{0};
  Nanoseconds next_memory_read_{0};
  bool waits_for_memory_ = false;  // the next step does
  Nanoseconds next_usage_sample_{0};
  Nanoseconds next_progress_{0};
};

}  // namespace reveza::jobs
