#include "phi/run/measured_cycles.h"

#include <iterator>
#include <utility>

#include "common/base/mutex.h"
#include "phi/arithmetic/parallel_for.h"

namespace reveza::phi {

MeasuredCycles::MeasuredCycles(const RunSettings& settings, CycleEngine& engine, int threads)
    : settings_(settings),
      engine_(engine),
      threads_(threads),
      runs_(static_cast<std::size_t>(settings.engine.runs)),
      measures_(MeasureNames(settings).size()) {
  for (std::size_t i = 0; i < runs_; ++i) run_measures_.emplace_back(settings);
}

Status MeasuredCycles::Restore(const BatchState& state,
                               std::span<const std::vector<CycleSample>> samples) {
  cycle_ = state.cycle;
  if (cycle_ == 0) return {};
  RETURN_IF_ERROR(engine_.SetState(state));
  for (std::size_t run = 0; run < runs_; ++run) {
    RETURN_IF_ERROR(run_measures_[run].Restore(cycle_, samples[run]));
  }
  return {};
}

std::vector<std::vector<CycleSample>> MeasuredCycles::Samples() const {
  std::vector<std::vector<CycleSample>> samples;
  samples.reserve(runs_);
  for (const RunMeasures& track : run_measures_) samples.push_back(track.Samples());
  return samples;
}

Status MeasuredCycles::Advance(int cycles) {
  observations_.resize(static_cast<std::size_t>(cycles) * runs_);
  values_.resize(observations_.size() * measures_);
  RETURN_IF_ERROR(engine_.Advance(cycles, observations_));
  TakeMeasures(cycles);
  cycle_ += static_cast<std::uint64_t>(cycles);
  return {};
}

// Measures all runs; idle threads take the next run, and each run is measured cycle by cycle.
void MeasuredCycles::TakeMeasures(int cycles) {
  unmeasured_.reset();
  if (measures_ == 0) return;
  Mutex mutex;
  const auto measure = [&](std::size_t run) {
    auto found = MeasureRun(run, cycles);
    if (!found) return;
    const MutexLock lock(mutex);
    if (!unmeasured_ || found->IsBefore(*unmeasured_)) unmeasured_ = std::move(found);
  };
  ParallelFor(threads_, runs_, [&] { return measure; });
}

// Returns the first window that could not be measured; its cells stay empty.
std::optional<Unmeasured> MeasuredCycles::MeasureRun(std::size_t run, int cycles) {
  std::optional<Unmeasured> first;
  for (int i = 0; i < cycles; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * runs_ + run;
    const std::uint64_t cycle = cycle_ + static_cast<std::uint64_t>(i) + 1;
    auto added = run_measures_[run].Add(cycle, observations_[at],
                                        std::span(values_).subspan(at * measures_, measures_));
    if (added || first) continue;
    // Drop the advice after the reason; it applies to `phi measure`.
    const std::string& why = added.error().message;
    first = Unmeasured{.cycle = cycle,
                       .run = settings_.engine.first_run + static_cast<std::uint32_t>(run),
                       .why = why.substr(0, why.find(';'))};
  }
  return first;
}

void AppendStates(const Observation& observation, std::vector<float>& states) {
  states.insert(states.end(), std::begin(observation.mean), std::end(observation.mean));
  states.insert(states.end(), std::begin(observation.rho_norm), std::end(observation.rho_norm));
}

}  // namespace reveza::phi
