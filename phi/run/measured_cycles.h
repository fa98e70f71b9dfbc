// The cycles of a batch of runs with their measures, computed a few at a time. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "phi/cycles/engine.h"
#include "phi/cycles/model.h"
#include "phi/run/outcome.h"
#include "phi/run/run_measures.h"
#include "phi/run/settings.h"

namespace reveza::phi {

class MeasuredCycles {
 public:
  // Begins before the first cycle. `settings`, which must have passed Prepare(), and `engine` must
  // outlive this object; `threads` compute measures.
  MeasuredCycles(const RunSettings& settings, CycleEngine& engine, int threads);

  // Continues after `state.cycle` cycles; `samples` are those of each run at that time.
  Status Restore(const BatchState& state, std::span<const std::vector<CycleSample>> samples);
  std::vector<std::vector<CycleSample>> Samples() const;
  // Returns the null distributions of the measures (RunMeasures::Nulls()) of the first run.
  std::vector<std::optional<Significance>> Nulls() const {
    return run_measures_.front().Nulls(threads_);
  }

  // Computes the next cycles, at least one. Results do not depend on how cycles are divided into
  // calls.
  Status Advance(int cycles);

  std::uint64_t cycle() const { return cycle_; }  // completed cycles
  std::size_t runs() const { return runs_; }
  std::size_t measures() const { return measures_; }
  // What the last Advance() computed: an observation for each cycle and run, runs adjacent, and as
  // many values for each as there are measures (MeasureNames()), kNotAvailable where there is none.
  std::span<const Observation> observations() const { return observations_; }
  std::span<const double> values() const { return values_; }
  // The first window of the last Advance() that could not be measured.
  const std::optional<Unmeasured>& unmeasured() const { return unmeasured_; }

 private:
  void TakeMeasures(int cycles);
  std::optional<Unmeasured> MeasureRun(std::size_t run, int cycles);

  const RunSettings& settings_;
  CycleEngine& engine_;
  int threads_;
  std::size_t runs_;
  std::size_t measures_;
  std::uint64_t cycle_ = 0;
  std::vector<RunMeasures> run_measures_;
  std::vector<Observation> observations_;
  std::vector<double> values_;
  std::optional<Unmeasured> unmeasured_;
};

// Appends the states of an observation, in the order of LayoutOf().
void AppendStates(const Observation& observation, std::vector<float>& states);

}  // namespace reveza::phi
