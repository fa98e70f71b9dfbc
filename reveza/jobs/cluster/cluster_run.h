// The runner of a job whose steps run as jobs of an engine that distributes work: hands ready steps
// to it in arrays of tasks, imports what comes back through a shared folder, and decides what
// becomes of steps that did not succeed. Nothing that it knows is lost with it: the arrays are in
// the shared folder, and the journal says what their steps have come to. Not thread-safe; Run()
// occupies the calling thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "reveza/jobs/cluster/arrays.h"
#include "reveza/jobs/cluster/cluster_engine.h"
#include "reveza/jobs/decide/admission.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/owner_file.h"
#include "reveza/jobs/engine/schedule.h"
#include "reveza/jobs/engine/step_list.h"

namespace reveza::jobs {

// Returns whether the program of a step ended by itself, so that only a further attempt can help.
inline bool EndedByItself(Outcome outcome) {
  return outcome == Outcome::kFailure || outcome == Outcome::kTimeLimit ||
         outcome == Outcome::kNotStarted;
}

struct ClusterSettings {
  std::shared_ptr<const ClusterEngine> engine;
  std::filesystem::path folder;                    // of this job, which all machines see
  std::filesystem::path reveza;                    // the program, as nodes find it
  std::uint32_t max_open = 1000;                   // tasks that may be pending or running
  std::chrono::milliseconds look_interval{1000};   // between looks at the shared folder
  std::chrono::milliseconds query_interval{5000};  // between questions to the engine
  std::chrono::milliseconds submit_delay{30'000};  // after it did not take an array
};

class ClusterRun {
 public:
  using Summary = Engine::Summary;

  ClusterRun(EngineParts parts, ClusterSettings settings, Observer& observer);

  // Runs until nothing is left to do. SIGINT and `stop` end the job as those of Engine do; SIGTERM
  // and SIGHUP end the runner only. Fails if the run cannot begin, the engine refuses its first
  // array, or the journal can no longer be written.
  Result<Summary> Run();

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  enum class Mode { kRunning, kDraining, kEnding, kLeaving };

  struct Task {
    TaskPlace place;
    std::map<std::uint32_t, std::uint32_t> steps{};  // that have not ended; their attempts before
    // The last attempt of a step that did not succeed, until the task has ended: it may be retried
    // there.
    std::map<std::uint32_t, AttemptResult> undecided{};
    // The step that ended last, if it has failed for good: unless the engine ended it with its
    // task.
    std::optional<std::uint32_t> failed{};
    TaskState state = TaskState::kPending;
    std::string reason{};           // why it is pending, or was never started
    std::optional<Bytes> memory{};  // what it was given
    bool is_gone = false;           // no process of it is alive
    bool progressed = false;        // steps have succeeded in it
    unsigned unlisted = 0;          // answers in a row in which it was missing
    std::optional<std::filesystem::file_time_type> seen{};  // of the copy of its journal
  };
  struct Array {
    std::uint32_t number = 0;
    ArrayPlace place;
    TaskResources resources;
    std::uint32_t count = 0;
    bool submitted = false;
    bool outdated = false;    // some of its steps have ended elsewhere
    std::vector<Task> tasks;  // with steps that have not ended
  };

  // Startup, the loop and the end (cluster_run.cc).
  Status Prepare();
  Status RestoreState(std::uint32_t step);
  bool IsFinished() const;
  void Wait();
  void HandleSignals();
  void Drain();
  void CancelAll();
  Result<Summary> Finish();
  void ShowProgress();
  Status SaveRunRecord();

  // Control requests and progress (cluster_requests.cc).
  nlohmann::json Answer(const nlohmann::json& request);
  // Requeues failed or held steps, all or those listed. Returns how many.
  Result<std::uint64_t> Retry(const nlohmann::json& steps);
  // Picks up steps that were added to the journal. Returns how many.
  Result<std::uint64_t> AddNewlyListedSteps();
  nlohmann::json RunnerStatus() const;
  Progress CurrentProgress() const;
  std::uint64_t CountTasks(TaskState state) const;
  std::string WaitingReason() const;

  // Arrays: of an earlier runner, and new ones (cluster_submit.cc).
  Status AdoptArrays();
  Status AdoptArray(std::uint32_t number);
  Status EndArray(std::uint32_t number);
  Status SubmitReady();
  // Writes and submits an array of the steps, which need the same.
  Status NewArray(const TaskResources& each, std::span<const std::uint32_t> steps,
                  std::uint32_t max_tasks);
  TaskFile MakeTask(std::span<const std::uint32_t> steps, const TaskResources& each);
  // Submits an array whose folder exists. Fails only if it is refused and no other is open.
  Status Submit(Array& array);
  // Replaces an array that was not submitted: its steps are ready again.
  Status Discard(Array& array);
  TaskResources ResourcesOf(std::uint32_t step) const;
  TaskResources ResourcesOfTask(const TaskFile& task) const;
  Need NeedOf(std::uint32_t step) const;

  // What comes back (cluster_collect.cc).
  Status Query();
  void Apply(const std::vector<TaskReport>& reports);
  Status Look();
  Status LookAt(Array& array, Task& task);
  // Takes the steps of an array that was not submitted out of it. The next run submits it.
  Status PutBack(Array& array);
  // Takes the attempts that an import has added to the journal.
  Status TakeAttempts(Task& task, std::int64_t after);
  Status TakeAttempt(Task& task, std::uint32_t step, const AttemptEntry& entry);
  // Fails the step that has failed for good, now that its task goes on or has ended by itself.
  Status SettleFailed(Task& task);
  // Decides about all steps of a task that has ended.
  Status Settle(const Array& array, Task& task);
  Status SettleAttempt(const Array& array, Task& task, std::uint32_t step, AttemptResult result);
  Status SettleLost(const Task& task, std::uint32_t step);
  Status Requeue(std::uint32_t step);
  Status FailStep(std::uint32_t step);
  void Learn(std::uint32_t step, const AttemptEntry& entry);
  void CheckHalt();
  StepReport ReportOf(std::uint32_t step, std::uint32_t attempt) const;
  const Command& CommandOf(std::uint32_t step) const {
    return job_.commands[job_.steps[step].command];
  }
  void Report(std::string_view note) { observer_.OnNote(note); }
  // Reports what is not what was reported last.
  void ReportOnce(const std::string& note);

  EngineParts parts_;
  ClusterSettings settings_;
  Observer& observer_;
  Job& job_;
  Schedule schedule_;
  RetryPolicy retries_;
  Claims claims_;
  StepList list_;
  std::vector<Array> arrays_;  // with tasks that have not ended
  std::set<std::uint32_t> ended_arrays_;
  std::uint32_t last_array_ = 0;
  std::map<std::uint32_t, unsigned> returned_;  // steps that came back without having failed
  std::optional<OwnerFile> owner_;
  std::optional<ControlServer> control_;
  UniqueFd signals_;
  platform::MonotonicClock clock_;
  Mode mode_ = Mode::kRunning;
  bool halted_ = false;
  std::string trouble_;   // why the engine cannot be asked; empty: it answers
  std::string reported_;  // by ReportOnce()
  Summary summary_;
  RunRecord run_;
  std::uint64_t ended_here_ = 0;
  Nanoseconds began_{0};
  Nanoseconds next_look_{0};
  Nanoseconds next_query_{0};
  Nanoseconds next_submit_{0};
  Nanoseconds next_touch_{0};
  Nanoseconds next_progress_{0};
};

}  // namespace reveza::jobs
