// The runner itself: one loop that starts steps, hears how they end, writes that into the journal
// and decides what is next. Thread-safety: none; one thread, which `Run` takes over.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "platform/clock.h"
#include "platform/process_table.h"
#include "runner/decide/governor.h"
#include "runner/definition/expander.h"
#include "runner/definition/thread_environment.h"
#include "runner/engine/control.h"
#include "runner/engine/observer.h"
#include "runner/engine/schedule.h"
#include "runner/engine/step_limits.h"
#include "runner/engine/worker_pool.h"
#include "runner/job.h"
#include "runner/journal/import_records.h"
#include "runner/journal/job_folder.h"
#include "runner/journal/journal.h"
#include "runner/report/metrics.h"
#include "runner/run_request.h"

namespace reveza::runner {

// In the journal: how the last run kept steps within their memory, in words.
inline constexpr const char* kLimits = "limits";
// In the journal: the table and the decisions of the last run, as text.
inline constexpr const char* kTuning = "tuning";

struct EngineParts {
  Job* job = nullptr;                // outlives the engine; grows when steps are added
  Expander* expander = nullptr;      // of that job; likewise
  std::vector<Identity> identities;  // of its steps, in their order
  RunRequest request;
  JobFolder folder;  // locked by the caller
  Journal journal;   // with the records in it and the list set
  std::vector<LiveAttempt> live;
  std::filesystem::path supervisor;      // the program beside each worker
  std::vector<std::string> environment;  // "NAME=value", of every step
  double cores = 1;                      // that steps may use together
  // Before the command of a step that claims GPU memory, so that it shares the GPU; may be empty.
  std::vector<std::string> gpu_prefix{};
  // Asks the daemon that shares the GPUs; none: steps do not share them.
  std::function<std::optional<GpuBooks>()> gpu_books{};
  std::filesystem::path root = "/";        // of the files that tell of the machine
  const platform::Clock* clock = nullptr;  // none: the machine's; else it outlives the engine
};

class Engine {
 public:
  enum class End {
    kDone,         // all steps are
    kFailed,       // some failed, or were skipped because of that
    kHeld,         // nobody knows of some whether they ran
    kInterrupted,  // somebody wanted it to stop before
  };
  struct Summary {
    End end = End::kDone;
    Schedule::Counts counts;
    std::uint64_t earlier = 0;  // done before this run
    std::uint64_t attempts = 0;
    std::vector<NamedSummary> metrics;
    std::string tuning;  // what was measured and decided, where there was a choice
  };

  Engine(EngineParts parts, Observer& observer);

  // Until nothing is left to do, or somebody ends it (SIGINT, SIGTERM, the control socket). An
  // error: it could not begin, or its journal cannot be written any more.
  Result<Summary> Run();

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  enum class Mode { kRunning, kPaused, kDraining, kEnding };

  Status Prepare();
  void TakeState(std::uint32_t step);
  Status PrepareLimits();
  Status TakeSignals();
  bool Over() const;
  void Poll();
  void HandleSignals();
  void HandleNews(const WorkerPool::News& news);
  void Handle(std::size_t slot, const Frame& frame);

  void Fill();
  std::optional<DeviceNames> DevicesOf(std::uint32_t step);
  std::vector<Admitted> Running() const;
  Governor::Counts RunningByLane() const;
  std::array<std::uint64_t, kLanes> WaitingByLane() const;
  // Starts what may be started; false: nothing more now.
  bool StartNext();
  void Reject(std::uint32_t step, const std::string& reason);
  void Relieve();
  std::filesystem::path Outputs() const;
  Status Start(std::uint32_t step, const Need& need, const std::optional<platform::Uuid>& gpu);
  Status MakeOutputFolder(const std::filesystem::path& folder);
  void NoteNeighboursOnGpu(Active& active);
  Result<StartRequest> RequestFor(std::uint32_t step, std::size_t slot, Active& active);

  void AddThreadSettings(const Command& command, std::size_t slot, StartRequest& request) const;
  void OnResult(std::size_t slot, AttemptResult result);
  // The most memory that it had, of all that is known.
  Bytes PeakOf(const Active& active, const AttemptResult& result) const;
  // What is to be said of an end, and what it really was.
  std::string Explain(const Active& active, AttemptResult& result, bool& no_gpu_memory) const;
  std::string ExplainGpuRefusal(const Active& active, AttemptResult& result,
                                bool& no_gpu_memory) const;
  std::string ExplainKill(const Active& active) const;
  std::string ExplainFailure(const Active& active, const AttemptResult& result) const;
  void NoteBrief(const Active& active, const AttemptResult& result);
  // What is done with a step whose attempt has ended; true: it has another turn.
  bool Settle(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle);
  bool IsLastTurn(std::uint32_t step) const;
  bool TryAgain(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle);
  void OnGone(std::size_t slot);
  void WatchLive();
  void CheckHalt();
  void Drain();
  void EndAll();

  void Sample();
  std::optional<Bytes> MemoryOf(const Active& active, platform::ProcessReader& reader) const;
  void HoldToLimit(std::size_t slot);
  void Commit(bool now);
  // An error is one of the journal.
  Status MakeOutputsLast();
  void BeInTrouble(const Error& error);
  void WaitForRoom(const Active& active, int error);
  std::string TuningText() const;
  void KeepWhatWasLearned();
  void ShowProgress();
  Progress MakeProgress() const;
  // Of steps that failed, or may have, all or those that are named: so many have another turn.
  Result<std::uint64_t> Retry(const nlohmann::json& steps);
  // Steps that somebody has added to the journal: so many.
  Result<std::uint64_t> TakeAdded();
  nlohmann::json Pause(bool pause);
  // Steps that go on while the job is paused, because they may hold a GPU.
  std::uint64_t RunningOnGpu() const;
  std::string PausedText() const;
  nlohmann::json Answer(const nlohmann::json& request);
  nlohmann::json StatusJson() const;
  nlohmann::json WorkersJson() const;
  StepReport ReportOf(std::uint32_t step, std::uint32_t attempt) const;
  Nanoseconds Now() const;

  EngineParts parts_;
  Observer& observer_;
  Job& job_;
  Schedule schedule_;
  StepLimits limits_;  // goes after the supervisors
  WorkerPool pool_;
  Governor governor_;
  std::optional<Control> control_;
  UniqueFd signals_;
  platform::MonotonicClock own_clock_;
  Mode mode_ = Mode::kRunning;

  std::vector<StepEntry> entries_;
  std::unordered_map<std::string, std::uint32_t> by_identity_;
  std::vector<LiveAttempt> live_;
  std::unordered_map<std::uint32_t, std::uint32_t> failures_;  // of steps, in this run
  std::unordered_map<std::uint32_t, std::uint32_t> memory_deaths_;
  std::set<std::uint32_t> brief_;  // commands whose last step was over at once
  bool said_no_group_ = false;
  Topology topology_ = ReadTopology();
  std::set<std::filesystem::path> folders_;  // of outputs, that are there
  Metrics metrics_;
  Summary summary_;
  std::optional<Error> trouble_;  // the journal or a record cannot be written
  bool outputs_last_ = true;      // none was refused by its disk
  bool reimport_ = false;         // the journal lacks what the records have
  std::string waiting_reason_;
  std::string said_not_started_;       // why the last step could not be started
  Nanoseconds pause_before_start_{0};  // the last one, while none can be started
  std::string said_not_seen_;          // why it cannot be told whether one still lives
  std::uint64_t ended_here_ = 0;
  Nanoseconds cpu_of_ended_{0};  // CPU time of attempts that have ended

  Nanoseconds began_{0};
  Nanoseconds dirty_since_{0};
  Nanoseconds next_commit_{0};
  Nanoseconds next_sample_{0};
  Nanoseconds next_progress_{0};
  Nanoseconds next_look_{0};  // at attempts of a runner that is gone
  Nanoseconds no_start_before_{0};
};

}  // namespace reveza::runner
