#include "runner/governor.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "platform/machine.h"
#include "runner/machine_reading.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

constexpr auto kReadEvery = 500ms;
constexpr Bytes kLeastReserve = 256ULL << 20;
constexpr unsigned kMostWorkers = 256;

// Steps of one command with other parameters need about the same.
Shape ShapeOfCommand(const Command& command) {
  std::string text;
  for (const auto& argument : command.arguments) text.append(argument).push_back('\0');
  return XXH3_64bits(text.data(), text.size());
}

unsigned MostWorkers(const RunRequest& request, double cores) {
  if (request.workers) return *request.workers;
  // Beyond two for each core, waiting is all that is gained.
  const auto most = static_cast<unsigned>(std::ceil(cores * 2));
  return std::clamp(request.max_workers.value_or(most), 1u, kMostWorkers);
}

Tuner::Options TunerOptions(const RunRequest& request, unsigned most) {
  Tuner::Options options;
  options.most = most;
  options.first = request.workers.value_or(1);
  options.least = request.workers.value_or(1);
  return options;
}

}  // namespace

Governor::Governor(const Job& job, const RunRequest& request, double cores)
    : job_(job),
      tunes_(!request.workers),
      most_(MostWorkers(request, cores)),
      tuner_(TunerOptions(request, most_)) {
  for (const auto& command : job.commands) {
    shapes_.push_back(ShapeOfCommand(command));
    wants_gpu_ = wants_gpu_ || command.claim.gpu_memory.value_or(0) > 0;
  }
  const Bytes total = platform::ReadCommitState().total.value_or(0);
  budget_.cpus = request.cpu_budget.value_or(cores);
  budget_.memory_reserve = request.memory_reserve.value_or(std::max(kLeastReserve, total / 20));
  if (wants_gpu_) {
    if (auto nvml = platform::LoadNvml()) gpus_ = std::move(*nvml);
  }
}

void Governor::Read(Nanoseconds now) {
  if (read_at_ && now - *read_at_ < kReadEvery) {
    reading_.now = now;
    return;
  }
  read_at_ = now;
  reading_ = ReadMachine(now);
  if (gpus_) {
    reading_.gpus = GpuMemoryOf(gpus_->Read());
  } else if (wants_gpu_) {
    reading_.gpus.emplace();  // none will ever be seen: to say so is better than to wait for ever
  }
}

Need Governor::NeedOf(std::uint32_t step, std::span<const Admitted> running) const {
  const Bytes free = FreeMemory(reading_, running, budget_).value_or(0);
  return claims_.For(ShapeOf(step), job_.commands[job_.steps[step].command].claim, free);
}

Admission::Choice Governor::Next(Nanoseconds now, std::span<const std::uint32_t> queue,
                                 std::span<const Admitted> running) {
  Read(now);
  if (guard_.holds()) {
    return {
        std::nullopt,
        {Verdict::Kind::kWait, "memory is scarce: what was paused goes on first", std::nullopt}};
  }
  std::vector<Waiting> waiting;
  waiting.reserve(queue.size());
  for (const auto step : queue) waiting.push_back({step, NeedOf(step, running)});
  return admission_.Next(reading_, waiting, running, budget_);
}

std::optional<PressureAction> Governor::Relieve(Nanoseconds now,
                                                std::span<const Admitted> running) {
  Read(now);
  const auto action = guard_.Next(reading_, running);
  if (action && action->kind == PressureAction::Kind::kPause) {
    tuner_.Hard(now, HardSignal::kPressureFull);
  }
  return action;
}

void Governor::Seen(std::uint32_t step, Bytes memory) {
  claims_.Seen(ShapeOf(step), memory, std::nullopt);
}

void Governor::Ended(Nanoseconds now, std::uint32_t step, const AttemptResult& result,
                     const Need& need, Bytes peak) {
  const auto known = peak > 0 ? std::optional(peak) : std::nullopt;
  const Nanoseconds duration(result.ended - result.began - result.paused);
  if (result.outcome == Outcome::kSuccess || result.outcome == Outcome::kPartial) {
    claims_.Succeeded(ShapeOf(step), known, std::nullopt);
    tuner_.Finished(now, duration, 1, ShapeOf(step));
    estimator_.Finished(step, duration, Workers(), ShapeOf(step));
  }
  if (result.outcome == Outcome::kMemory) {
    claims_.DiedOfMemory(ShapeOf(step), known, need.memory);
    tuner_.Hard(now, HardSignal::kOutOfMemory);
  }
}

void Governor::Pass(Nanoseconds now, std::uint64_t remaining, std::span<const Admitted> running) {
  Bytes memory = 0;
  for (const auto& one : running) memory += one.memory.value_or(0);
  if (memory > 0) tuner_.Memory(memory);
  tuner_.Pass(now, remaining, static_cast<unsigned>(running.size()));
}

std::optional<RemainingTime> Governor::Remaining(std::span<const std::uint32_t> first_ready,
                                                 std::uint64_t left, Nanoseconds now,
                                                 std::span<const Admitted> running) const {
  std::vector<WorkLeft> work;
  if (left > 0) work.push_back({first_ready.empty() ? 0 : ShapeOf(first_ready.front()), left});
  std::vector<InFlight> flight;
  flight.reserve(running.size());
  for (const auto& one : running) {
    flight.push_back({ShapeOf(static_cast<std::uint32_t>(one.step)), now - one.since});
  }
  return estimator_.Remaining(work, flight, Workers());
}

void Governor::CycleEnded(std::uint64_t number, Nanoseconds duration) {
  cycles_.Finished(number, duration, 1);
}

std::optional<RemainingTime> Governor::RemainingCycles(std::uint64_t left) const {
  const WorkLeft work{0, left};
  return cycles_.Remaining({&work, 1}, {}, 1);
}

std::optional<double> Governor::Drift() const {
  auto drift = cycles_.MainDrift();
  if (!drift) drift = estimator_.MainDrift();
  return drift ? std::optional(drift->slope) : std::nullopt;
}

std::string Governor::Learned() const {
  nlohmann::json all = nlohmann::json::array();
  for (const auto shape : shapes_) {
    const auto known = claims_.Of(shape);
    if (!known) continue;
    all.push_back({{"shape", known->shape},
                   {"memory", known->memory.value_or(0)},
                   {"memory_floor", known->memory_floor}});
  }
  return all.dump();
}

void Governor::Restore(const std::string& learned) {
  const auto all = nlohmann::json::parse(learned, nullptr, false);
  if (!all.is_array()) return;
  const auto number = [](const nlohmann::json& object, const char* key) -> std::uint64_t {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  for (const auto& one : all) {
    if (!one.is_object()) continue;
    LearnedShape known;
    known.shape = number(one, "shape");
    if (const Bytes memory = number(one, "memory"); memory > 0) known.memory = memory;
    known.memory_floor = number(one, "memory_floor");
    claims_.Restore(known);
  }
}

}  // namespace reveza::runner
