#include "runner/conductor.h"

#include <algorithm>

namespace reveza::runner {
namespace {

bool WithGpu(const Need& need) { return need.gpu_memory > 0; }

// Where a number was asked for, the tuners only keep the table.
Tuner::Options Fixed(Tuner::Options options, std::optional<unsigned> workers) {
  if (workers) options.first = options.least = options.most = std::max(1u, *workers);
  return options;
}

}  // namespace

Conductor::Conductor(Options options)
    : options_(std::move(options)),
      cpu_(Fixed(options_.cpu, options_.workers)),
      gpu_(Fixed(options_.gpu, options_.workers)),
      pressure_(options_.pressure) {}

Conductor::Kind Conductor::KindOf(bool with_gpu) {
  const auto running = std::ranges::count_if(
      running_, [&](const Admitted& step) { return WithGpu(step.need) == with_gpu; });
  return {with_gpu ? gpu_ : cpu_, static_cast<unsigned>(running)};
}

bool Conductor::HasWorker(bool with_gpu) {
  if (options_.workers) return running_.size() < *options_.workers;
  const Kind kind = KindOf(with_gpu);
  return kind.running < kind.tuner.workers();
}

void Conductor::Tick(nanoseconds now, std::uint64_t remaining) {
  Bytes memory = 0;
  bool known = false;
  for (const Admitted& step : running_) {
    memory += step.memory.value_or(0);
    known = known || step.memory.has_value();
  }
  for (const bool with_gpu : {false, true}) {
    const Kind kind = KindOf(with_gpu);
    // One that has never had a step has nothing to decide.
    if (!(with_gpu ? gpu_used_ : cpu_used_)) continue;
    if (known) kind.tuner.Memory(memory);
    kind.tuner.Pass(now, remaining, kind.running);
  }
}

Conductor::Choice Conductor::Choose(const Reading& reading, std::span<const Candidate> candidates) {
  Choice choice;
  choice.verdict.kind = Verdict::Kind::kWait;
  if (candidates.empty()) return choice;
  if (pressure_.holds()) {
    choice.verdict.reason = "memory pressure: nothing starts until it is gone";
    return choice;
  }
  const Bytes free = FreeMemory(reading, running_, options_.budget).value_or(0);
  const bool workers[] = {HasWorker(false), HasWorker(true)};
  std::vector<Waiting> queue;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Need need = claims_.For(candidates[i].shape, candidates[i].claim, free);
    if (!workers[WithGpu(need) ? 1 : 0]) continue;
    queue.push_back({candidates[i].step, need});
    places.push_back(i);
  }
  if (queue.empty()) return choice;
  auto chosen = admission_.Next(reading, queue, running_, options_.budget);
  choice.verdict = std::move(chosen.verdict);
  if (!chosen.index) return choice;
  choice.index = places[*chosen.index];
  choice.need = queue[*chosen.index].need;
  return choice;
}

void Conductor::Started(const Candidate& candidate, const Choice& choice, nanoseconds now) {
  Admitted step;
  step.step = candidate.step;
  step.need = choice.need;
  step.since = now;
  step.gpu = choice.verdict.gpu;
  running_.push_back(step);
  (WithGpu(step.need) ? gpu_used_ : cpu_used_) = true;
  runs_.insert_or_assign(candidate.step, Run{candidate.shape, RunningTime(now)});
}

void Conductor::Used(StepNumber step, std::optional<Bytes> memory,
                     std::optional<Bytes> gpu_memory) {
  const auto found = std::ranges::find(running_, step, &Admitted::step);
  const auto run = runs_.find(step);
  if (found == running_.end() || run == runs_.end()) return;
  found->memory = memory;
  found->gpu_memory = gpu_memory;
  claims_.Seen(run->second.shape, memory, gpu_memory);
}

void Conductor::Ended(StepNumber step, std::uint64_t index, const StepEnd& end, nanoseconds now) {
  const auto found = std::ranges::find(running_, step, &Admitted::step);
  const auto run = runs_.find(step);
  if (found == running_.end() || run == runs_.end()) return;
  const Admitted ended = *found;
  const Shape shape = run->second.shape;
  const nanoseconds duration = run->second.time.Elapsed(now);
  running_.erase(found);
  runs_.erase(run);
  if (end.how == StepEnd::How::kSucceeded) {
    Tuner& tuner = WithGpu(ended.need) ? gpu_ : cpu_;
    tuner.Finished(now, duration, end.work, shape);
    estimator_.Finished(index, duration, workers(), shape);
  }
  Learn(ended, shape, end, now);
}

void Conductor::Learn(const Admitted& step, Shape shape, const StepEnd& end, nanoseconds now) {
  using How = StepEnd::How;
  Tuner& tuner = WithGpu(step.need) ? gpu_ : cpu_;
  switch (end.how) {
    case How::kSucceeded:
      return claims_.Succeeded(shape, end.memory_peak, end.gpu_memory_peak);
    case How::kOutOfMemory:
      tuner.Hard(now, HardSignal::kOutOfMemory);
      return claims_.DiedOfMemory(shape, end.memory_peak, step.need.memory);
    case How::kOverLimit:
    case How::kForPressure:
      return claims_.DiedOfMemory(shape, end.memory_peak, step.need.memory);
    case How::kNoGpuMemory:
      tuner.Hard(now, HardSignal::kNoGpuMemory);
      return claims_.DiedOfGpuMemory(shape, end.gpu_memory_peak, step.need.gpu_memory);
    case How::kFailed:
    case How::kCancelled:
      return;
  }
}

std::optional<PressureAction> Conductor::Relieve(const Reading& reading) {
  auto action = pressure_.Next(reading, running_);
  if (!action) return action;
  const auto found = std::ranges::find(running_, action->step, &Admitted::step);
  const auto run = runs_.find(action->step);
  if (found == running_.end() || run == runs_.end()) return std::nullopt;
  switch (action->kind) {
    case PressureAction::Kind::kPause:
      found->paused = true;
      run->second.time.Pause(reading.now);
      (WithGpu(found->need) ? gpu_ : cpu_).Hard(reading.now, HardSignal::kPressureFull);
      break;
    case PressureAction::Kind::kResume:
      found->paused = false;
      run->second.time.Resume(reading.now);
      break;
    case PressureAction::Kind::kEnd:
      break;
  }
  return action;
}

Conductor::nanoseconds Conductor::Elapsed(StepNumber step, nanoseconds now) const {
  const auto run = runs_.find(step);
  return run == runs_.end() ? nanoseconds(0) : run->second.time.Elapsed(now);
}

unsigned Conductor::workers() const {
  if (options_.workers) return std::max(1u, *options_.workers);
  const bool gpu =
      std::ranges::any_of(running_, [](const Admitted& step) { return WithGpu(step.need); });
  const bool cpu =
      std::ranges::any_of(running_, [](const Admitted& step) { return !WithGpu(step.need); });
  return gpu ? gpu_.workers() + (cpu ? cpu_.workers() : 0) : cpu_.workers();
}

std::optional<RemainingTime> Conductor::Remaining(std::span<const WorkLeft> left,
                                                  nanoseconds now) const {
  std::vector<InFlight> in_flight;
  for (const auto& [step, run] : runs_) in_flight.push_back({run.shape, run.time.Elapsed(now)});
  // A map has no order that can be relied on.
  std::ranges::sort(in_flight, {}, &InFlight::elapsed);
  return estimator_.Remaining(left, in_flight, workers());
}

}  // namespace reveza::runner
