// How much may run at once, and what next: the tuner, admission, what is known of claims, the guard
// against pressure and the estimate of what is left, with the readings of the machine that they
// ask for. Thread-safety: none; the runner's loop.
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

#include "platform/gpu_monitor.h"
#include "runner/decide/admission.h"
#include "runner/decide/claims.h"
#include "runner/decide/estimate.h"
#include "runner/decide/gpu_books.h"
#include "runner/decide/others_load.h"
#include "runner/decide/pressure.h"
#include "runner/decide/tuner.h"
#include "runner/decide/visible_gpus.h"
#include "runner/job.h"
#include "runner/run_request.h"
#include "runner/supervisor/attempt.h"

namespace reveza::runner {

class Governor {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  using Counts = std::array<unsigned, kLanes>;
  // Where what is asked of the machine comes from: tests have their own.
  struct Sources {
    std::filesystem::path root = "/";
    std::unique_ptr<platform::GpuMonitor> gpus{};  // none: NVML, where steps claim GPU memory
    bool gpu_is_shared = false;  // they take turns on it: more fit than fit at once
    // What the daemon that shares the GPUs says; none: there is no daemon to ask.
    std::function<std::optional<GpuBooks>()> books{};
    // What a step was told by its user of the GPUs that it is to see; nothing: it sees all.
    std::function<std::optional<DeviceNames>(std::uint32_t step)> devices{};
  };

  // `cores`: that steps may use. The job outlives it.
  Governor(const Job& job, const RunRequest& request, double cores)
      : Governor(job, request, cores, Sources()) {}
  Governor(const Job& job, const RunRequest& request, double cores, Sources sources);

  // The job has more commands than before, behind the others.
  void TakeNewCommands();

  // How many steps of a lane may run now, and of those that the job has.
  unsigned Workers(Lane lane) const { return tuner(lane).workers(); }
  unsigned Workers() const;
  // Which lanes have room for one more beside those that run.
  std::array<bool, kLanes> Room(const Counts& running) const;
  bool tunes() const { return tunes_; }
  bool Has(Lane lane) const { return has_[static_cast<std::size_t>(lane)]; }

  // What is known of a step's needs now.
  Need NeedOf(std::uint32_t step, std::span<const Admitted> running) const;
  // Which of `queue` may start, or why none. `may`: the lanes that it is of.
  Admission::Choice Next(Nanoseconds now, std::span<const std::uint32_t> queue,
                         std::span<const Admitted> running,
                         std::array<bool, kLanes> may = {true, true});

  // What cannot be told of the GPUs that users name, a line each; each is said once.
  std::vector<std::string> TakeDoubts() { return std::exchange(doubts_, {}); }

  // One thing to do against pressure, or nothing; to be asked once a second. `held`: the user has
  // paused the job.
  std::optional<PressureAction> Relieve(Nanoseconds now, std::span<const Admitted> running,
                                        bool held = false);
  void Seen(std::uint32_t step, Bytes memory, std::optional<Bytes> gpu_memory = std::nullopt);
  // CPU time that all steps of ours have had so far; to be called every second or so.
  void SeenCpu(Nanoseconds now, Nanoseconds ours);
  // What processes have on all GPUs, and in host memory while others have their turn there; nothing
  // where nobody says it of any of them.
  std::optional<Bytes> GpuMemoryOfProcesses(std::span<const pid_t> pids) const;

  struct Peaks {
    Bytes memory = 0;            // 0: not seen
    Bytes gpu_memory = 0;        // likewise
    bool no_gpu_memory = false;  // it failed because the GPU had none
    bool at_own_limit = false;   // it took more than it may: others had nothing to do with it
  };
  void Ended(Nanoseconds now, std::uint32_t step, const AttemptResult& result, const Need& need,
             const Peaks& peaks);
  // To be called when steps were started or have ended. `waiting`: steps not started yet.
  void Pass(Nanoseconds now, std::array<std::uint64_t, kLanes> waiting,
            std::span<const Admitted> running);

  // `waiting`: steps not started yet, by command.
  std::optional<RemainingTime> Remaining(std::span<const std::uint64_t> waiting, Nanoseconds now,
                                         std::span<const Admitted> running) const;
  // Cycle `number` of a program took so long. Where there are cycles, they are what grows longer.
  void CycleEnded(std::uint64_t number, Nanoseconds duration);
  // The same for one program with `left` cycles to make; nothing before some were seen.
  std::optional<RemainingTime> RemainingCycles(std::uint64_t left) const;
  std::optional<double> Drift() const;

  // What was learned, to be kept for the next run, and back.
  std::string Learned() const;
  void Restore(const std::string& learned);

  const Tuner& tuner(Lane lane) const { return tuners_[static_cast<std::size_t>(lane)]; }
  unsigned most() const { return most_; }

 private:
  void Read(Nanoseconds now);
  void ReadGpus();
  std::optional<std::vector<platform::Uuid>> NamedBy(std::uint32_t step);
  void FindPhases();
  Shape ShapeOf(std::uint32_t step) const { return shapes_[job_.steps[step].command]; }
  Lane LaneOfStep(std::uint64_t step) const {
    return LaneOf(job_.commands[job_.steps[step].command]);
  }
  Tuner& TunerOf(std::uint64_t step) { return tuners_[static_cast<std::size_t>(LaneOfStep(step))]; }

  const Job& job_;
  bool tunes_;
  unsigned most_;
  std::optional<unsigned> at_once_;  // steps of all lanes together
  std::array<Tuner, kLanes> tuners_;
  std::array<bool, kLanes> has_{};  // lanes of which there are commands
  std::vector<Shape> shapes_;       // of the commands
  std::vector<unsigned> phases_;    // of the commands: how many others come before
  Sources sources_;
  Budget budget_;
  Reading reading_;
  std::optional<Nanoseconds> read_at_;
  std::vector<platform::GpuReading> gpus_;
  std::optional<GpuBooks> books_;
  std::vector<std::string> doubts_;  // to be said
  std::set<std::string> said_doubts_;
  OthersLoad others_;
  std::set<std::uint32_t> alone_on_gpu_;  // steps that were refused memory of a shared GPU
  std::array<Admission, 4> admissions_;   // one for each set of lanes that may
  Claims claims_;
  PressureGuard guard_;
  Estimator estimator_;
  Estimator cycles_;
};

}  // namespace reveza::runner
