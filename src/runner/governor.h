// How much may run at once, and what next: the tuner, admission, what is known of claims, the guard
// against pressure and the estimate of what is left, with the readings of the machine that they
// ask for. Thread-safety: none; the runner's loop.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/gpu_monitor.h"
#include "runner/admission.h"
#include "runner/attempt.h"
#include "runner/claims.h"
#include "runner/estimate.h"
#include "runner/job.h"
#include "runner/pressure.h"
#include "runner/run_request.h"
#include "runner/tuner.h"

namespace reveza::runner {

class Governor {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  // `cores`: that steps may use. The job outlives it.
  Governor(const Job& job, const RunRequest& request, double cores);

  // How many may run now.
  unsigned Workers() const { return tuner_.workers(); }
  bool tunes() const { return tunes_; }

  // What is known of a step's needs now.
  Need NeedOf(std::uint32_t step, std::span<const Admitted> running) const;
  // Which of `queue` may start, or why none.
  Admission::Choice Next(Nanoseconds now, std::span<const std::uint32_t> queue,
                         std::span<const Admitted> running);

  // One thing to do against pressure, or nothing; to be asked once a second.
  std::optional<PressureAction> Relieve(Nanoseconds now, std::span<const Admitted> running);
  void Seen(std::uint32_t step, Bytes memory);

  void Ended(Nanoseconds now, std::uint32_t step, const AttemptResult& result, const Need& need,
             Bytes peak);
  // To be called when steps were started or have ended.
  void Pass(Nanoseconds now, std::uint64_t remaining, std::span<const Admitted> running);

  std::optional<RemainingTime> Remaining(std::span<const std::uint32_t> first_ready,
                                         std::uint64_t left, Nanoseconds now,
                                         std::span<const Admitted> running) const;
  // Cycle `number` of a program took so long. Where there are cycles, they are what grows longer.
  void CycleEnded(std::uint64_t number, Nanoseconds duration);
  // The same for one program with `left` cycles to make; nothing before some were seen.
  std::optional<RemainingTime> RemainingCycles(std::uint64_t left) const;
  std::optional<double> Drift() const;

  // What was learned, to be kept for the next run, and back.
  std::string Learned() const;
  void Restore(const std::string& learned);

  const Tuner& tuner() const { return tuner_; }
  unsigned most() const { return most_; }

 private:
  void Read(Nanoseconds now);
  Shape ShapeOf(std::uint32_t step) const { return shapes_[job_.steps[step].command]; }

  const Job& job_;
  bool tunes_;
  unsigned most_;
  Tuner tuner_;
  std::vector<Shape> shapes_;  // of the commands
  Budget budget_;
  Reading reading_;
  std::optional<Nanoseconds> read_at_;
  bool wants_gpu_ = false;
  std::unique_ptr<platform::GpuMonitor> gpus_;
  Admission admission_;
  Claims claims_;
  PressureGuard guard_;
  Estimator estimator_;
  Estimator cycles_;
};

}  // namespace reveza::runner
