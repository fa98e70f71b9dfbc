#include "reveza/jobs/decide/governor.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "common/platform/machine.h"

namespace reveza::jobs {
namespace {

using namespace std::chrono_literals;

constexpr auto kReadEvery = 500ms;
constexpr Bytes kMinReserve = 256ULL << 20;
constexpr std::size_t kMaxGroups = 64;  // of commands that the estimate distinguishes

// Steps of one command have similar needs, whatever their parameters.
Shape ShapeOfCommand(const Command& command) {
  std::string text;
  for (const auto& argument : command.arguments) text.append(argument).push_back('\0');
  return XXH3_64bits(text.data(), text.size());
}

// Nothing but the user and the system bounds the number of workers.
StepsBound MaxWorkers(const RunRequest& request, const StepsBound& system) {
  if (request.workers) return {*request.workers, "--workers"};
  const StepsBound asked{std::max(1u, request.max_workers.value_or(system.steps)), "--max-workers"};
  return request.max_workers && asked.steps <= system.steps ? asked : system;
}

Tuner::Options TunerOptions(const RunRequest& request, unsigned initial, const StepsBound& max,
                            double cores) {
  Tuner::Options options;
  options.max = max.steps;
  options.max_reason = max.reason;
  options.initial = request.workers.value_or(initial);
  options.min = request.workers.value_or(1);
  options.cores = cores;
  return options;
}

}  // namespace

Governor::Governor(const Job& job, const RunRequest& request, double cores, Sources sources)
    : job_(job),
      tunes_(!request.workers),
      max_running_(request.workers ? request.workers : request.max_workers),
      tuners_{Tuner(TunerOptions(request, InitialWorkers(cores),
                                 MaxWorkers(request, sources.max_steps), cores)),
              Tuner(TunerOptions(request, kInitialGpuWorkers,
                                 MaxWorkers(request, sources.max_steps), 0))},
      sources_(std::move(sources)) {
  AddNewCommands();
  const Bytes total = platform::ReadCommitState(sources_.root).total.value_or(0);
  budget_.cpus = request.cpu_budget.value_or(cores);
  budget_.default_reserve = !request.memory_reserve;
  budget_.memory_reserve = request.memory_reserve.value_or(std::max(kMinReserve, total / 20));
}

void Governor::AddNewCommands() {
  for (std::size_t i = shapes_.size(); i < job_.commands.size(); ++i) {
    shapes_.push_back(ShapeOfCommand(job_.commands[i]));
    peak_models_.emplace_back();
    has_[static_cast<std::size_t>(LaneOf(job_.commands[i]))] = true;
  }
  ComputePhases();
  if (!Has(Lane::kGpu) || sources_.gpus) return;
  if (auto nvml = nvml::LoadNvml()) sources_.gpus = std::move(*nvml);
}

// Commands that depend on others come in a later phase; dependencies within a command do not count.
void Governor::ComputePhases() {
  phases_.assign(job_.commands.size(), 0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> before;  // (dependent, dependency)
  for (const Step& step : job_.steps) {
    for (const auto other : step.after) {
      const auto command = job_.steps[other].command;
      if (command != step.command) before.emplace(step.command, command);
    }
  }
  // Bounded by the number of commands, because commands may depend on each other's steps in turn.
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
  return std::min(all, max_running_.value_or(all));
}

unsigned Governor::WorkersThatShareCores() const {
  const unsigned workers = Workers();
  if (!tunes_ || !Has(Lane::kCpu)) return workers;
  return std::max(workers, std::min(WorkersThatShare(budget_.cpus), max_running_.value_or(~0u)));
}

std::array<bool, kLanes> Governor::LanesWithRoom(const Counts& running) const {
  std::array<bool, kLanes> room{};
  const unsigned all = running[0] + running[1];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    room[lane] = running[lane] < tuners_[lane].workers() && (!max_running_ || all < *max_running_);
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
  reading_.external_cpus = external_load_.BusyBeyond(budget_.cpus);
  reading_.gpu_is_shared = sources_.gpu_is_shared;
  if (Has(Lane::kGpu)) ReadGpus();
}

void Governor::ReadMemory(Nanoseconds now) {
  const MachineReading fresh = ReadMachine(now, sources_.root);
  reading_.memory_available = fresh.memory_available;
  reading_.cgroup_limit = fresh.cgroup_limit;
  reading_.cgroup_headroom = fresh.cgroup_headroom;
}

void Governor::ReadGpus() {
  if (sources_.gpus) {
    auto seen = sources_.gpus->Read();
    reading_.gpus = seen ? GpuMemoryOf(*seen) : std::nullopt;
    reading_.all_gpus = seen && reading_.gpus && reading_.gpus->size() == seen->size();
    gpus_ = std::move(seen).value_or(std::vector<nvml::GpuReading>());
  } else {
    reading_.gpus.emplace();  // no GPU will ever appear: reject rather than wait for ever
  }
  ledger_ = sources_.ledger ? sources_.ledger() : std::nullopt;
  if (ledger_) reading_.gpus = ApplyLedger(std::move(reading_.gpus), *ledger_);
}

std::optional<std::vector<nvml::Uuid>> Governor::GpusVisibleTo(std::uint32_t step) {
  if (!sources_.devices || LaneOfStep(step) != Lane::kGpu) return std::nullopt;
  const auto names = sources_.devices(step);
  if (!names) return std::nullopt;
  auto visible = FindVisibleGpus(*names, gpus_);
  if (!visible.warning.empty() && reported_warnings_.insert(visible.warning).second) {
    warnings_.push_back(visible.warning);
  }
  return std::move(visible.gpus);
}

Claim Governor::ClaimOf(std::uint32_t step) const {
  const Command& command = job_.commands[job_.steps[step].command];
  Claim claim = command.claim;
  if (!command.memory_template.empty() && sources_.memory) claim.memory = sources_.memory(step);
  return claim;
}

// If each step claims what it needs, one that was wrong tells nothing about steps of another size.
Shape Governor::ClaimShapeOf(std::uint32_t step) const {
  const Shape shape = ShapeOf(step);
  if (job_.commands[job_.steps[step].command].memory_template.empty()) return shape;
  const std::uint64_t fields[] = {shape, ClaimOf(step).memory.value_or(0)};
  return XXH3_64bits(fields, sizeof(fields));
}

Need Governor::NeedOf(std::uint32_t step, std::span<const RunningStep> running) const {
  const Bytes free = AllocatableMemory(reading_, running, budget_).value_or(0);
  Need need = claims_.Resolve(ClaimShapeOf(step), ClaimOf(step), free);
  if (need.memory_source == ClaimSource::kLearned) {
    need.memory = PredictMemory(step).value_or(need.memory);
  }
  need.gpu_exclusive = exclusive_gpu_steps_.contains(step);
  return need;
}

std::optional<Bytes> Governor::PredictMemory(std::uint32_t step) const {
  const auto learned = claims_.Find(ClaimShapeOf(step));
  if (!learned || learned->memory.floor > 0) return std::nullopt;
  const Step& one = job_.steps[step];
  const auto peak = peak_models_[one.command].Predict(one.parameters);
  return peak ? std::optional(WithMarginOfPrediction(*peak)) : std::nullopt;
}

Admission::Choice Governor::Next(Nanoseconds now, std::span<const std::uint32_t> queue,
                                 std::span<const RunningStep> running,
                                 std::array<bool, kLanes> may) {
  Read(now);
  if (guard_.blocks_starts()) {
    return {std::nullopt,
            {Verdict::Kind::kWait, "memory pressure: paused steps resume first", std::nullopt}};
  }
  auto& admission = admissions_[(may[0] ? 1u : 0u) + (may[1] ? 2u : 0u)];
  std::vector<QueuedStep> waiting;
  const auto next_of = [&](std::size_t count) {
    for (const auto step : queue.first(count).subspan(waiting.size())) {
      waiting.push_back({step, NeedOf(step, running), GpusVisibleTo(step)});
    }
    return admission.Next(reading_, waiting, running, budget_);
  };
  // Others matter only if the first has to wait.
  auto choice = next_of(std::min<std::size_t>(1, queue.size()));
  return choice.index || queue.size() <= 1 ? choice : next_of(queue.size());
}

std::optional<PressureAction> Governor::RelievePressure(Nanoseconds now,
                                                        std::span<const RunningStep> running,
                                                        bool job_paused) {
  Read(now);
  const auto action = guard_.Next(reading_, running, job_paused);
  if (action && action->kind == PressureAction::Kind::kPause) {
    TunerOf(action->step).OnOverload(now, OverloadSignal::kPressureFull);
  }
  return action;
}

void Governor::ObserveUsage(std::uint32_t step, Bytes memory, std::optional<Bytes> gpu_memory) {
  claims_.ObserveUsage(ClaimShapeOf(step), memory, gpu_memory);
}

void Governor::ObserveCpuTime(Nanoseconds now, Nanoseconds own_cpu) {
  if (const auto ticks = platform::ReadCpuTicks(sources_.root))
    external_load_.Update(now, *ticks, own_cpu);
  const double external = external_load_.BusyBeyond(budget_.cpus).value_or(0);
  cpu_tuner().SetCores(std::max(1.0, budget_.cpus - external));
}

Governor::Nanoseconds Governor::UsageInterval() const {
  return tunes_ && Has(Lane::kCpu) ? tuner(Lane::kCpu).SampleInterval() : Nanoseconds::max();
}

void Governor::ObserveUsage(Nanoseconds now, std::span<const RunningStep> running) {
  std::vector<StepUsage> usage;
  for (const auto& one : running) {
    if (LaneOfStep(one.step) != Lane::kCpu) continue;
    // What a paused step does not use, no other should.
    if (one.paused || !one.cpu) return cpu_tuner().ObserveUsage(now, {});
    usage.push_back({one.step, *one.cpu});
  }
  cpu_tuner().ObserveUsage(now, usage);
}

std::optional<Bytes> Governor::GpuMemoryOfProcesses(std::span<const pid_t> pids) const {
  std::optional<Bytes> all;
  // NVML does not see the swapped-out memory of a client that waits for its turn.
  const auto is_client = [&](pid_t pid) { return ledger_ && ledger_->clients.contains(pid); };
  for (const pid_t pid : pids) {
    if (is_client(pid)) all = all.value_or(0) + ledger_->clients.at(pid);
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

void Governor::OnStepEnded(Nanoseconds now, std::uint32_t step, const AttemptResult& result,
                           const Need& need, const Peaks& peaks) {
  const auto known = [](Bytes peak) { return peak > 0 ? std::optional(peak) : std::nullopt; };
  const auto memory = known(peaks.memory);
  const auto gpu_memory = known(peaks.gpu_memory);
  const Nanoseconds duration(result.ended - result.began - result.paused);
  Tuner& tuner = TunerOf(step);
  if (result.outcome == Outcome::kSuccess || result.outcome == Outcome::kPartial) {
    claims_.RecordSuccess(ClaimShapeOf(step), memory, gpu_memory);
    if (memory) peak_models_[job_.steps[step].command].Add(job_.steps[step].parameters, *memory);
    tuner.OnStepFinished(
        now, {step, duration, Nanoseconds(result.user_time + result.system_time), ShapeOf(step)});
    estimator_.OnStepFinished(duration, tuner.workers(), ShapeOf(step));
  }
  if (result.outcome != Outcome::kMemory) return;
  if (peaks.gpu_oom) {
    // On a shared GPU the peak does not tell what was missing, and a larger claim would not keep
    // other steps away.
    if (sources_.gpu_is_shared) {
      exclusive_gpu_steps_.insert(step);
    } else {
      claims_.RecordGpuOom(ClaimShapeOf(step), gpu_memory, need.gpu_memory);
    }
    return tuner.OnOverload(now, OverloadSignal::kNoGpuMemory);
  }
  claims_.RecordOom(ClaimShapeOf(step), memory, need.memory);
  // A claim that was too small is no sign of too many workers.
  if (!peaks.at_own_limit) tuner.OnOverload(now, OverloadSignal::kOutOfMemory);
}

void Governor::Update(Nanoseconds now, std::array<std::uint64_t, kLanes> waiting,
                      std::span<const RunningStep> running) {
  std::array<Bytes, kLanes> memory{};
  Counts count{};
  for (const auto& one : running) {
    const auto lane = static_cast<std::size_t>(LaneOfStep(one.step));
    memory[lane] += one.memory.value_or(0);
    ++count[lane];
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!has_[lane]) continue;
    if (memory[lane] > 0) tuners_[lane].RecordMemory(memory[lane]);
    tuners_[lane].Update(now, waiting[lane], count[lane]);
  }
}

std::optional<RemainingTime> Governor::Remaining(std::span<const std::uint64_t> waiting,
                                                 Nanoseconds now,
                                                 std::span<const RunningStep> running) const {
  std::map<std::pair<unsigned, Lane>, PendingGroup> groups;  // by phase and lane
  const auto group = [&](std::uint32_t command) -> PendingGroup& {
    const Lane lane = LaneOf(job_.commands[command]);
    const unsigned phase = phases_.size() <= kMaxGroups ? phases_[command] : 0;
    PendingGroup& one = groups[{phase, lane}];
    one.phase = phase;
    one.workers = std::min(Workers(lane), max_running_.value_or(Workers(lane)));
    return one;
  };
  for (std::uint32_t command = 0; command < waiting.size(); ++command) {
    if (waiting[command] == 0) continue;
    auto& left = group(command).left;
    if (left.size() < kMaxGroups) {
      left.push_back({shapes_[command], waiting[command]});
    } else {
      left.back().steps += waiting[command];
    }
  }
  for (const auto& one : running) {
    const auto step = static_cast<std::uint32_t>(one.step);
    group(job_.steps[step].command).running.push_back({ShapeOf(step), now - one.since});
  }
  std::vector<PendingGroup> all;
  for (auto& [key, one] : groups) all.push_back(std::move(one));
  return estimator_.Remaining(all);
}

void Governor::OnCycleFinished(Nanoseconds duration) { cycles_.OnStepFinished(duration, 1); }

std::optional<RemainingTime> Governor::RemainingCycles(std::uint64_t left, unsigned workers,
                                                       std::uint64_t longest) const {
  const PendingGroup all{.workers = workers, .left = {{0, left}}};
  const PendingGroup in_a_row{.left = {{0, longest}}};
  auto remaining = cycles_.Remaining({&all, 1});
  const auto at_least = cycles_.Remaining({&in_a_row, 1});
  if (!remaining || !at_least) return remaining;
  return RemainingTime{std::max(remaining->p50, at_least->p50),
                       std::max(remaining->p90, at_least->p90)};
}

std::string Governor::SerializeLearned() const {
  nlohmann::json all = nlohmann::json::array();
  for (const auto shape : shapes_) {
    const auto known = claims_.Find(shape);
    if (!known) continue;
    all.push_back({{"shape", known->shape},
                   {"memory", known->memory.peak.value_or(0)},
                   {"memory_floor", known->memory.floor},
                   {"gpu_memory", known->gpu_memory.peak.value_or(0)},
                   {"gpu_memory_floor", known->gpu_memory.floor}});
  }
  return all.dump();
}

void Governor::Restore(const std::string& learned) {
  const auto all = nlohmann::json::parse(learned, nullptr, false);
  if (!all.is_array()) return;
  const auto number = [](const nlohmann::json& object, const std::string& key) -> std::uint64_t {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  for (const auto& one : all) {
    if (!one.is_object()) continue;
    const auto amount = [&](const std::string& name) -> LearnedAmount {
      const Bytes peak = number(one, name);
      return {peak > 0 ? std::optional(peak) : std::nullopt, number(one, name + "_floor")};
    };
    claims_.Restore({number(one, "shape"), amount("memory"), amount("gpu_memory")});
  }
}

}  // namespace reveza::jobs
