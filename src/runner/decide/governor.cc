#include "runner/decide/governor.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "platform/machine.h"
#include "platform/machine_load.h"
#include "runner/decide/machine_reading.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

constexpr auto kReadEvery = 500ms;
constexpr Bytes kLeastReserve = 256ULL << 20;
constexpr unsigned kMostWorkers = 256;
constexpr std::size_t kMostGroups = 64;  // of commands that the rest is played with

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

Tuner::Options TunerOptions(const RunRequest& request, unsigned first, unsigned most) {
  Tuner::Options options;
  options.most = most;
  options.first = request.workers.value_or(first);
  options.least = request.workers.value_or(1);
  return options;
}

}  // namespace

Governor::Governor(const Job& job, const RunRequest& request, double cores, Sources sources)
    : job_(job),
      tunes_(!request.workers),
      most_(MostWorkers(request, cores)),
      at_once_(request.workers ? request.workers : request.max_workers),
      tuners_{Tuner(TunerOptions(request, FirstWorkers(cores), most_)),
              Tuner(TunerOptions(request, kFirstOnGpu, most_))},
      sources_(std::move(sources)) {
  TakeNewCommands();
  const Bytes total = platform::ReadCommitState(sources_.root).total.value_or(0);
  budget_.cpus = request.cpu_budget.value_or(cores);
  budget_.memory_reserve = request.memory_reserve.value_or(std::max(kLeastReserve, total / 20));
}

void Governor::TakeNewCommands() {
  for (std::size_t i = shapes_.size(); i < job_.commands.size(); ++i) {
    shapes_.push_back(ShapeOfCommand(job_.commands[i]));
    has_[static_cast<std::size_t>(LaneOf(job_.commands[i]))] = true;
  }
  FindPhases();
  if (!Has(Lane::kGpu) || sources_.gpus) return;
  if (auto nvml = platform::LoadNvml()) sources_.gpus = std::move(*nvml);
}

// Commands that wait for others come later; one that waits for itself is none.
void Governor::FindPhases() {
  phases_.assign(job_.commands.size(), 0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> before;  // the first waits for the second
  for (const Step& step : job_.steps) {
    for (const auto other : step.after) {
      const auto command = job_.steps[other].command;
      if (command != step.command) before.emplace(step.command, command);
    }
  }
  // No path is longer than there are commands, wherever they wait for each other's steps in turn.
  bool changed = true;
  for (std::size_t round = 0; changed && round < job_.commands.size(); ++round) {
    changed = false;
    for (const auto& [command, other] : before) {
      if (phases_[command] > phases_[other]) continue;
      phases_[command] = phases_[other] + 1;
      changed = true;
    }
  }
}

unsigned Governor::Workers() const {
  unsigned all = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (has_[lane]) all += tuners_[lane].workers();
  }
  return std::min(all, at_once_.value_or(all));
}

std::array<bool, kLanes> Governor::Room(const Counts& running) const {
  std::array<bool, kLanes> room{};
  const unsigned all = running[0] + running[1];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    room[lane] = running[lane] < tuners_[lane].workers() && (!at_once_ || all < *at_once_);
  }
  return room;
}

void Governor::Read(Nanoseconds now) {
  if (read_at_ && now - *read_at_ < kReadEvery) {
    reading_.now = now;
    return;
  }
  read_at_ = now;
  reading_ = ReadMachine(now, sources_.root);
  reading_.others_cpus = others_.Beyond(budget_.cpus);
  reading_.gpu_is_shared = sources_.gpu_is_shared;
  if (Has(Lane::kGpu)) ReadGpus();
}

void Governor::ReadGpus() {
  if (sources_.gpus) {
    auto seen = sources_.gpus->Read();
    reading_.gpus = seen ? GpuMemoryOf(*seen) : std::nullopt;
    reading_.all_gpus = seen && reading_.gpus && reading_.gpus->size() == seen->size();
    gpus_ = std::move(seen).value_or(std::vector<platform::GpuReading>());
  } else {
    reading_.gpus.emplace();  // none will ever be seen: to say so is better than to wait for ever
  }
  books_ = sources_.books ? sources_.books() : std::nullopt;
  if (books_) reading_.gpus = WithBooks(std::move(reading_.gpus), *books_);
}

std::optional<std::vector<platform::Uuid>> Governor::NamedBy(std::uint32_t step) {
  if (!sources_.devices || LaneOfStep(step) != Lane::kGpu) return std::nullopt;
  const auto names = sources_.devices(step);
  if (!names) return std::nullopt;
  auto visible = FindVisibleGpus(*names, gpus_);
  if (!visible.doubt.empty() && said_doubts_.insert(visible.doubt).second) {
    doubts_.push_back(visible.doubt);
  }
  return std::move(visible.only);
}

Need Governor::NeedOf(std::uint32_t step, std::span<const Admitted> running) const {
  const Bytes free = FreeMemory(reading_, running, budget_).value_or(0);
  Need need = claims_.For(ShapeOf(step), job_.commands[job_.steps[step].command].claim, free);
  need.gpu_alone = alone_on_gpu_.contains(step);
  return need;
}

Admission::Choice Governor::Next(Nanoseconds now, std::span<const std::uint32_t> queue,
                                 std::span<const Admitted> running, std::array<bool, kLanes> may) {
  Read(now);
  if (guard_.holds()) {
    return {
        std::nullopt,
        {Verdict::Kind::kWait, "memory is scarce: what was paused goes on first", std::nullopt}};
  }
  std::vector<Waiting> waiting;
  waiting.reserve(queue.size());
  for (const auto step : queue) waiting.push_back({step, NeedOf(step, running), NamedBy(step)});
  auto& admission = admissions_[(may[0] ? 1u : 0u) + (may[1] ? 2u : 0u)];
  return admission.Next(reading_, waiting, running, budget_);
}

std::optional<PressureAction> Governor::Relieve(Nanoseconds now, std::span<const Admitted> running,
                                                bool held) {
  Read(now);
  const auto action = guard_.Next(reading_, running, held);
  if (action && action->kind == PressureAction::Kind::kPause) {
    TunerOf(action->step).Hard(now, HardSignal::kPressureFull);
  }
  return action;
}

void Governor::Seen(std::uint32_t step, Bytes memory, std::optional<Bytes> gpu_memory) {
  claims_.Seen(ShapeOf(step), memory, gpu_memory);
}

void Governor::SeenCpu(Nanoseconds now, Nanoseconds ours) {
  if (const auto ticks = platform::ReadCpuTicks(sources_.root)) others_.Seen(now, *ticks, ours);
}

std::optional<Bytes> Governor::GpuMemoryOfProcesses(std::span<const pid_t> pids) const {
  std::optional<Bytes> all;
  // Of a client that waits for its turn NVML sees the smaller part.
  const auto is_client = [&](pid_t pid) { return books_ && books_->clients.contains(pid); };
  for (const pid_t pid : pids) {
    if (is_client(pid)) all = all.value_or(0) + books_->clients.at(pid);
  }
  for (const auto& gpu : gpus_) {
    if (!gpu.processes) continue;
    for (const auto& process : *gpu.processes) {
      if (is_client(process.pid)) continue;
      if (!process.used || std::ranges::find(pids, process.pid) == pids.end()) continue;
      all = all.value_or(0) + *process.used;
    }
  }
  return all;
}

void Governor::Ended(Nanoseconds now, std::uint32_t step, const AttemptResult& result,
                     const Need& need, const Peaks& peaks) {
  const auto known = [](Bytes peak) { return peak > 0 ? std::optional(peak) : std::nullopt; };
  const auto memory = known(peaks.memory);
  const auto gpu_memory = known(peaks.gpu_memory);
  const Nanoseconds duration(result.ended - result.began - result.paused);
  Tuner& tuner = TunerOf(step);
  if (result.outcome == Outcome::kSuccess || result.outcome == Outcome::kPartial) {
    claims_.Succeeded(ShapeOf(step), memory, gpu_memory);
    tuner.Finished(now, duration, 1, ShapeOf(step));
    estimator_.Finished(step, duration, tuner.workers(), ShapeOf(step));
  }
  if (result.outcome != Outcome::kMemory) return;
  if (peaks.no_gpu_memory) {
    // Where they take turns, the peak of one says nothing of what it lacked, and a larger claim
    // would keep nobody away.
    if (sources_.gpu_is_shared) {
      alone_on_gpu_.insert(step);
    } else {
      claims_.DiedOfGpuMemory(ShapeOf(step), gpu_memory, need.gpu_memory);
    }
    return tuner.Hard(now, HardSignal::kNoGpuMemory);
  }
  claims_.DiedOfMemory(ShapeOf(step), memory, need.memory);
  // A claim that was too small says nothing of how many may run at once.
  if (!peaks.at_own_limit) tuner.Hard(now, HardSignal::kOutOfMemory);
}

void Governor::Pass(Nanoseconds now, std::array<std::uint64_t, kLanes> waiting,
                    std::span<const Admitted> running) {
  std::array<Bytes, kLanes> memory{};
  Counts count{};
  for (const auto& one : running) {
    const auto lane = static_cast<std::size_t>(LaneOfStep(one.step));
    memory[lane] += one.memory.value_or(0);
    ++count[lane];
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!has_[lane]) continue;
    if (memory[lane] > 0) tuners_[lane].Memory(memory[lane]);
    tuners_[lane].Pass(now, waiting[lane], count[lane]);
  }
}

std::optional<RemainingTime> Governor::Remaining(std::span<const std::uint64_t> waiting,
                                                 Nanoseconds now,
                                                 std::span<const Admitted> running) const {
  std::map<std::pair<unsigned, Lane>, GroupLeft> groups;  // by phase and lane
  const auto group = [&](std::uint32_t command) -> GroupLeft& {
    const Lane lane = LaneOf(job_.commands[command]);
    const unsigned phase = phases_.size() <= kMostGroups ? phases_[command] : 0;
    GroupLeft& one = groups[{phase, lane}];
    one.phase = phase;
    one.workers = std::min(Workers(lane), at_once_.value_or(Workers(lane)));
    return one;
  };
  for (std::uint32_t command = 0; command < waiting.size(); ++command) {
    if (waiting[command] == 0) continue;
    auto& left = group(command).left;
    if (left.size() < kMostGroups) {
      left.push_back({shapes_[command], waiting[command]});
    } else {
      left.back().steps += waiting[command];
    }
  }
  for (const auto& one : running) {
    const auto step = static_cast<std::uint32_t>(one.step);
    group(job_.steps[step].command).running.push_back({ShapeOf(step), now - one.since});
  }
  std::vector<GroupLeft> all;
  for (auto& [key, one] : groups) all.push_back(std::move(one));
  return estimator_.Remaining(all);
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
                   {"memory_floor", known->memory_floor},
                   {"gpu_memory", known->gpu_memory.value_or(0)},
                   {"gpu_memory_floor", known->gpu_memory_floor}});
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
    if (const Bytes memory = number(one, "gpu_memory"); memory > 0) known.gpu_memory = memory;
    known.gpu_memory_floor = number(one, "gpu_memory_floor");
    claims_.Restore(known);
  }
}

}  // namespace reveza::runner
