// Decides how many steps run at once and which starts next. Combines the tuner, admission, learned
// claims, the pressure guard and the time estimate, and takes the machine readings that they need.
// Not thread-safe; belongs to the runner's loop.
#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/jobs/decide/admission.h"
#include "reveza/jobs/decide/estimate.h"
#include "reveza/jobs/decide/machine_reading.h"
#include "reveza/jobs/decide/peak_model.h"
#include "reveza/jobs/decide/pressure.h"
#include "reveza/jobs/decide/tuner.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/run_request.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

class Governor {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  using Counts = std::array<unsigned, kLanes>;
  // Where readings come from; tests substitute their own.
  struct Sources {
    std::filesystem::path root = "/";
    std::unique_ptr<nvml::GpuMonitor> gpus{};  // null: NVML, if steps claim GPU memory
    bool gpu_is_shared = false;                // steps take turns on the GPU
    // Queries the daemon that shares the GPUs; null: there is none.
    std::function<std::optional<GpuLedger>()> ledger{};
    // Returns the GPUs that the user restricted a step to; empty: all.
    std::function<std::optional<DeviceNames>(std::uint32_t step)> devices{};
    // Returns the memory that a step claims by its command's template.
    std::function<std::optional<Bytes>(std::uint32_t step)> memory{};
    StepsBound max_steps{};  // that the system lets run
  };

  // `cores`: usable by steps. `job` must outlive the governor.
  Governor(const Job& job, const RunRequest& request, double cores)
      : Governor(job, request, cores, Sources()) {}
  Governor(const Job& job, const RunRequest& request, double cores, Sources sources);

  // Picks up commands appended to the job.
  void AddNewCommands();

  // Returns how many steps may run now, in one lane or in all lanes that the job uses.
  unsigned Workers(Lane lane) const { return tuner(lane).workers(); }
  unsigned Workers() const;
  // Returns the number of workers among which steps divide the cores.
  unsigned WorkersThatShareCores() const;
  // Returns which lanes may start another step.
  std::array<bool, kLanes> LanesWithRoom(const Counts& running) const;
  bool tunes() const { return tunes_; }
  bool Has(Lane lane) const { return has_[static_cast<std::size_t>(lane)]; }

  // Returns the current needs of a step.
  Need NeedOf(std::uint32_t step, std::span<const RunningStep> running) const;
  // Chooses which step of `queue` may start, or tells why none may. `lanes`: those that the queue
  // was taken from.
  Admission::Choice Next(Nanoseconds now, std::span<const std::uint32_t> queue,
                         std::span<const RunningStep> running,
                         std::array<bool, kLanes> lanes = {true, true});

  // Takes pending warnings about unresolvable CUDA_VISIBLE_DEVICES, one line each; each is reported
  // once.
  std::vector<std::string> TakeWarnings() { return std::exchange(warnings_, {}); }

  // Returns one action against memory pressure, or none; call once a second. `job_paused`: by the
  // user.
  std::optional<PressureAction> RelievePressure(Nanoseconds now,
                                                std::span<const RunningStep> running,
                                                bool job_paused = false);
  // Records the current usage of a running step.
  void ObserveUsage(std::uint32_t step, Bytes memory,
                    std::optional<Bytes> gpu_memory = std::nullopt);
  // Records the CPU time of all our steps so far; call about once a second.
  void ObserveCpuTime(Nanoseconds now, Nanoseconds own_cpu);
  // Records the CPU time of each running step; call every UsageInterval().
  void ObserveUsage(Nanoseconds now, std::span<const RunningStep> running);
  Nanoseconds UsageInterval() const;
  // Returns the memory of processes on all GPUs, including what is swapped out to host memory while
  // others have their turn. Empty if no source reports any of them.
  std::optional<Bytes> GpuMemoryOfProcesses(std::span<const pid_t> pids) const;

  struct Peaks {
    Bytes memory = 0;           // 0: not observed
    Bytes gpu_memory = 0;       // 0: not observed
    bool gpu_oom = false;       // failed because the GPU had no memory left
    bool at_own_limit = false;  // exceeded its own limit, independently of other steps
  };
  // Learns from a finished attempt.
  void OnStepEnded(Nanoseconds now, std::uint32_t step, const AttemptResult& result,
                   const Need& need, const Peaks& peaks);
  // Updates the tuners; call when steps have started or ended. `waiting`: not started yet, by lane.
  void Update(Nanoseconds now, std::array<std::uint64_t, kLanes> waiting,
              std::span<const RunningStep> running);

  // Reads what memory is free, which Next() knows from at most half a second ago.
  void ReadMemory(Nanoseconds now);

  // Estimates the remaining time. `waiting`: steps not started yet, by command.
  std::optional<RemainingTime> Remaining(std::span<const std::uint64_t> waiting, Nanoseconds now,
                                         std::span<const RunningStep> running) const;
  // Records the duration of a program's cycle.
  void OnCycleFinished(Nanoseconds duration);
  // Estimates the remaining time of steps with `left` cycles to go, of which one step has to run
  // `longest` in a row; empty before some finished.
  std::optional<RemainingTime> RemainingCycles(std::uint64_t left, unsigned workers,
                                               std::uint64_t longest) const;

  // Serialises what was learned, for the next run.
  std::string SerializeLearned() const;
  // Restores what SerializeLearned() returned; ignores invalid input.
  void Restore(const std::string& learned);

  const Tuner& tuner(Lane lane) const { return tuners_[static_cast<std::size_t>(lane)]; }

 private:
  void Read(Nanoseconds now);
  void ReadGpus();
  std::optional<std::vector<nvml::Uuid>> GpusVisibleTo(std::uint32_t step);
  void ComputePhases();
  Shape ShapeOf(std::uint32_t step) const { return shapes_[job_.steps[step].command]; }
  Claim ClaimOf(std::uint32_t step) const;
  Shape ClaimShapeOf(std::uint32_t step) const;
  // Returns the memory that a step of learned needs claims because of its parameters; nullopt if
  // they do not tell, or if a step has died for lack of memory since the last one that needed more.
  std::optional<Bytes> PredictMemory(std::uint32_t step) const;
  Lane LaneOfStep(std::uint64_t step) const {
    return LaneOf(job_.commands[job_.steps[step].command]);
  }
  Tuner& cpu_tuner() { return tuners_[static_cast<std::size_t>(Lane::kCpu)]; }
  Tuner& TunerOf(std::uint64_t step) { return tuners_[static_cast<std::size_t>(LaneOfStep(step))]; }

  const Job& job_;
  bool tunes_;
  std::optional<unsigned> max_running_;  // steps of all lanes together
  std::array<Tuner, kLanes> tuners_;
  std::array<bool, kLanes> has_{};  // lanes that the job uses
  std::vector<Shape> shapes_;       // by command
  std::vector<unsigned> phases_;    // by command: length of the longest dependency chain before it
  Sources sources_;
  Budget budget_;
  MachineReading reading_;
  std::optional<Nanoseconds> read_at_;
  std::vector<nvml::GpuReading> gpus_;
  std::optional<GpuLedger> ledger_;
  std::vector<std::string> warnings_;  // not reported yet
  std::set<std::string> reported_warnings_;
  ExternalLoad external_load_;
  std::set<std::uint32_t> exclusive_gpu_steps_;  // ran out of memory on a shared GPU
  std::array<Admission, 4> admissions_;          // one per set of lanes
  Claims claims_;
  std::vector<PeakModel> peak_models_;  // by command
  PressureGuard guard_;
  Estimator estimator_;
  Estimator cycles_;
};

}  // namespace reveza::jobs
