#include "reveza/jobs/decide/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/units.h"

namespace reveza::jobs {
namespace {

constexpr double kCpuTolerance = 1e-6;
// Percent of PSI above which nothing starts.
constexpr double kMaxMemorySome = 20;
constexpr double kMaxMemoryFull = 5;
constexpr std::chrono::seconds kGrace{30};

Verdict Wait(std::string reason) { return {Verdict::Kind::kWait, std::move(reason)}; }
Verdict Reject(std::string reason) { return {Verdict::Kind::kReject, std::move(reason)}; }

Bytes Subtract(Bytes from, Bytes what) { return from > what ? from - what : 0; }

// Returns what a step was promised and has not allocated yet.
Bytes Promised(Bytes claimed, ClaimSource by, std::optional<Bytes> has, bool grace_over) {
  if (grace_over && (by == ClaimSource::kGuessed || !has)) return 0;
  return Subtract(claimed, has.value_or(0));
}

bool GraceOver(const RunningStep& step, const MachineReading& reading) {
  return reading.now - step.since >= kGrace;
}

Bytes PromisedMemory(const MachineReading& reading, std::span<const RunningStep> running) {
  Bytes promised = 0;
  for (const RunningStep& step : running) {
    promised +=
        Promised(step.need.memory, step.need.memory_source, step.memory, GraceOver(step, reading));
  }
  return promised;
}

// Formats "2.1 GiB free, 512 MiB reserved, 1 GiB promised to other steps, the step needs 3 GiB".
std::string AmountsText(Bytes free, Bytes reserve, Bytes promised, Bytes need) {
  std::string text = FormatBytes(free) + " free";
  if (reserve > 0) text += fmt::format(", {} reserved", FormatBytes(reserve));
  if (promised > 0) text += fmt::format(", {} promised to other steps", FormatBytes(promised));
  return text + fmt::format(", the step needs {}", FormatBytes(need));
}

std::optional<Verdict> CheckStall(std::string_view tasks, std::optional<double> share, double max) {
  if (!share || *share <= max) return std::nullopt;
  return Wait(
      fmt::format("memory pressure: {} stalled on memory {:.0f} % of the last 10 s; "
                  "steps start at {:.0f} % or less",
                  tasks, *share, max));
}

std::optional<Verdict> CheckPressure(const MachineReading& reading,
                                     std::span<const RunningStep> running) {
  // With no step of ours running the pressure is not ours, and waiting would not relieve it.
  if (running.empty()) return std::nullopt;
  if (auto verdict = CheckStall("all tasks", reading.memory_full, kMaxMemoryFull)) {
    return verdict;
  }
  return CheckStall("some tasks", reading.memory_some, kMaxMemorySome);
}

std::optional<Verdict> CheckCpus(const Need& need, const MachineReading& reading,
                                 std::span<const RunningStep> running, const Budget& budget) {
  if (need.cpus <= 0) return std::nullopt;
  if (need.cpus > budget.cpus + kCpuTolerance) {
    return Reject(
        fmt::format("CPU: the step needs {:.3g} cores, {:.3g} are usable", need.cpus, budget.cpus));
  }
  double taken = 0;
  for (const RunningStep& step : running) taken += step.paused ? 0 : step.need.cpus;
  if (taken + need.cpus > budget.cpus + kCpuTolerance) {
    return Wait(fmt::format("CPU: {:.3g} of {:.3g} cores in use, the step needs {:.3g}", taken,
                            budget.cpus, need.cpus));
  }
  const double others = reading.external_cpus.value_or(0);
  if (!running.empty() && taken + others + need.cpus > budget.cpus + kCpuTolerance) {
    return Wait(
        fmt::format("CPU: {:.3g} of {:.3g} cores in use, {:.3g} by other programs, the step "
                    "needs {:.3g}",
                    taken + others, budget.cpus, others, need.cpus));
  }
  return std::nullopt;
}

// What a limit leaves to steps.
struct MemoryRoom {
  std::optional<Bytes> total;
  std::optional<Bytes> available;
  Bytes reserve = 0;
};

MemoryRoom RoomOfMachine(const MachineReading& reading, const Budget& budget) {
  return {reading.memory_total, reading.memory_available, budget.memory_reserve};
}

// The default reserve of the machine is for other programs, which a cgroup keeps out.
MemoryRoom RoomOfCgroup(const MachineReading& reading, const Budget& budget) {
  constexpr Bytes kMinReserve = 16 * kMiB;
  Bytes reserve = budget.memory_reserve;
  if (budget.default_reserve && reading.cgroup_limit) {
    reserve = std::min(reserve, std::max(kMinReserve, *reading.cgroup_limit / 20));
  }
  return {reading.cgroup_limit, reading.cgroup_headroom, reserve};
}

// Returns the room below the limit that leaves the least.
MemoryRoom SmallestRoom(const MachineReading& reading, const Budget& budget) {
  const MemoryRoom machine = RoomOfMachine(reading, budget);
  const MemoryRoom cgroup = RoomOfCgroup(reading, budget);
  if (!machine.available || !cgroup.available) return machine.available ? machine : cgroup;
  const bool in_cgroup =
      Subtract(*cgroup.available, cgroup.reserve) < Subtract(*machine.available, machine.reserve);
  return in_cgroup ? cgroup : machine;
}

bool Exceeds(Bytes need, const MemoryRoom& room) {
  return room.total && need > Subtract(*room.total, room.reserve);
}

std::optional<Verdict> CheckMemory(const Need& need, const MachineReading& reading,
                                   std::span<const RunningStep> running, const Budget& budget) {
  const MemoryRoom machine = RoomOfMachine(reading, budget);
  const MemoryRoom cgroup = RoomOfCgroup(reading, budget);
  const bool too_large = Exceeds(need.memory, machine) || Exceeds(need.memory, cgroup);
  if (too_large && need.memory_source == ClaimSource::kDeclared) {
    const bool is_machine = Exceeds(need.memory, machine);
    const MemoryRoom& room = is_machine ? machine : cgroup;
    return Reject(fmt::format("memory: the step needs {}, {} {}, {} reserved",
                              FormatBytes(need.memory),
                              is_machine ? "the machine has" : "the control group allows",
                              FormatBytes(*room.total), FormatBytes(room.reserve)));
  }
  // An uncertain need is tried alone.
  if (running.empty() && (too_large || need.memory_source == ClaimSource::kGuessed))
    return std::nullopt;
  const MemoryRoom room = SmallestRoom(reading, budget);
  if (!room.available) return std::nullopt;
  const Bytes promised = PromisedMemory(reading, running);
  if (need.memory <= Subtract(*room.available, room.reserve + promised)) return std::nullopt;
  Verdict wait =
      Wait("memory: " + AmountsText(*room.available, room.reserve, promised, need.memory));
  wait.for_memory = true;
  return wait;
}

struct GpuRoom {
  const GpuMemory* gpu = nullptr;
  Bytes promised = 0;
  Bytes free = 0;          // minus promised
  bool in_use = false;     // by our steps
  bool exclusive = false;  // held by a step that needs it exclusively
};

GpuRoom RoomOn(const GpuMemory& gpu, const MachineReading& reading,
               std::span<const RunningStep> running) {
  GpuRoom room{.gpu = &gpu};
  Bytes held = 0;  // observed use of our steps, up to their claims
  for (const RunningStep& step : running) {
    if (step.gpu != gpu.uuid) continue;
    room.in_use = true;
    room.exclusive = room.exclusive || step.need.gpu_exclusive;
    room.promised += Promised(step.need.gpu_memory, step.need.gpu_memory_source, step.gpu_memory,
                              GraceOver(step, reading));
    held += std::min(step.gpu_memory.value_or(0), step.need.gpu_memory);
  }
  // Memory released since the last observation may be allocated again.
  room.promised += Subtract(held, gpu.used);
  room.free = Subtract(Subtract(gpu.total, gpu.used), room.promised);
  return room;
}

Verdict WaitForExclusiveUse(const Need& need) {
  if (need.gpu_exclusive) {
    return Wait(
        "GPU memory: the step ran out of it beside others, and waits for exclusive use of the GPU");
  }
  return Wait("GPU memory: a step that ran out of it beside others has exclusive use of the GPU");
}

// Admits with the GPU to run on, or tells why not.
Verdict CheckGpu(const Need& need, const MachineReading& reading,
                 std::span<const RunningStep> running,
                 const std::vector<nvml::Uuid>* visible_gpus) {
  if (need.gpu_memory == 0) return {};
  if (!reading.gpus) return Wait("GPU memory: no GPU can be queried now");
  if (reading.gpus->empty()) return Reject("GPU memory: this machine has no usable GPU");
  if (visible_gpus != nullptr && visible_gpus->empty()) {
    return Reject(
        "GPU memory: CUDA_VISIBLE_DEVICES hides all GPUs from a step that claims GPU memory");
  }
  GpuRoom best;
  Bytes largest = 0;
  bool passed_over = false;  // a GPU excluded by exclusive use
  for (const GpuMemory& gpu : *reading.gpus) {
    if (visible_gpus != nullptr &&
        std::ranges::find(*visible_gpus, gpu.uuid) == visible_gpus->end())
      continue;
    largest = std::max(largest, gpu.total);
    const GpuRoom room = RoomOn(gpu, reading, running);
    if (room.exclusive || (need.gpu_exclusive && room.in_use)) {
      passed_over = true;
    } else if (best.gpu == nullptr || room.free > best.free) {
      best = room;
    }
  }
  if (best.gpu == nullptr && passed_over) return WaitForExclusiveUse(need);
  if (best.gpu == nullptr)
    return Wait("GPU memory: the GPU selected by CUDA_VISIBLE_DEVICES cannot be queried now");
  Verdict admitted;
  admitted.gpu = best.gpu->uuid;
  if (need.gpu_memory <= best.free) return admitted;
  // On a shared GPU a step that does not fit now waits for its turn there.
  if (reading.gpu_is_shared && need.gpu_memory <= best.gpu->total) return admitted;
  if (need.gpu_memory > largest) {
    if (need.gpu_memory_source == ClaimSource::kDeclared && !reading.all_gpus) {
      return Wait(
          fmt::format("GPU memory: the step needs {}, the largest GPU that can be queried now "
                      "offers {}",
                      FormatBytes(need.gpu_memory), FormatBytes(largest)));
    }
    if (need.gpu_memory_source == ClaimSource::kDeclared) {
      return Reject(fmt::format("GPU memory: the step needs {}, the largest GPU offers {}",
                                FormatBytes(need.gpu_memory), FormatBytes(largest)));
    }
    if (!best.in_use) return admitted;
  }
  return Wait("GPU memory: " + AmountsText(Subtract(best.gpu->total, best.gpu->used), 0,
                                           best.promised, need.gpu_memory));
}

constexpr Bytes kMinClaimMargin = 32 * kMiB;
constexpr Bytes kMinMargin = 8 * kMiB;  // of a prediction
constexpr Bytes kMinGuess = 64 * kMiB;
constexpr Bytes kMaxGuess = 4 * kGiB;
constexpr Bytes kMinAfterDeath = 64 * kMiB;

Bytes AfterDeath(std::optional<Bytes> peak, Bytes claimed) {
  const Bytes had = std::max(peak.value_or(0), claimed);
  return std::max(had + had / 2, kMinAfterDeath);
}

void RaisePeak(LearnedAmount& amount, std::optional<Bytes> peak) {
  if (!peak) return;
  amount.peak = std::max(amount.peak.value_or(0), *peak);
  // It needed more than the steps that died, so the need is known now.
  if (*peak > amount.floor - amount.floor / 3) amount.floor = 0;
}

std::pair<Bytes, ClaimSource> ResolveAmount(std::optional<Bytes> declared,
                                            const LearnedAmount& learned, Bytes observed,
                                            Bytes guess) {
  const auto& [peak, floor] = learned;
  if (declared && *declared >= floor) return {*declared, ClaimSource::kDeclared};
  if (peak) return {std::max({WithMargin(*peak), floor, observed}), ClaimSource::kLearned};
  if (floor > 0) return {std::max(floor, observed), ClaimSource::kLearned};
  return {std::max(guess, observed), ClaimSource::kGuessed};
}

// Swapping out keeps this much of the step's limit free: kHeadroomReserve of swap/arena.cc.
constexpr Bytes kSwapHeadroom = 256 * kMiB;

}  // namespace

std::optional<Bytes> AllocatableMemory(const MachineReading& reading,
                                       std::span<const RunningStep> running, const Budget& budget) {
  const MemoryRoom room = SmallestRoom(reading, budget);
  if (!room.available) return std::nullopt;
  return Subtract(*room.available, room.reserve + PromisedMemory(reading, running));
}

Verdict CheckAdmission(const Need& need, const MachineReading& reading,
                       std::span<const RunningStep> running, const Budget& budget,
                       const std::vector<nvml::Uuid>* visible_gpus) {
  auto verdict = CheckPressure(reading, running);
  const auto cpus = CheckCpus(need, reading, running, budget);
  const auto memory = CheckMemory(need, reading, running, budget);
  const Verdict gpu = CheckGpu(need, reading, running, visible_gpus);
  // A permanent rejection takes precedence over reasons to wait.
  for (const auto& one : {cpus, memory, std::optional(gpu)}) {
    if (one && one->kind == Verdict::Kind::kReject) return *one;
  }
  if (!verdict) verdict = cpus;
  if (!verdict) verdict = memory;
  return verdict.value_or(gpu);
}

Admission::Choice Admission::Next(const MachineReading& reading, std::span<const QueuedStep> queue,
                                  std::span<const RunningStep> running, const Budget& budget) {
  if (queue.empty()) return {};
  if (head_ != queue.front().step) {
    head_ = queue.front().step;
    bypasses_ = 0;
  }
  const auto check = [&](const QueuedStep& step) {
    const auto* visible_gpus = step.visible_gpus ? &*step.visible_gpus : nullptr;
    return CheckAdmission(step.need, reading, running, budget, visible_gpus);
  };
  Choice choice{std::nullopt, check(queue.front())};
  if (choice.verdict.kind != Verdict::Kind::kWait) return {0, std::move(choice.verdict)};
  if (bypasses_ >= kMaxBypasses) {
    choice.verdict.reason += "; nothing bypasses it any more";
    return choice;
  }
  // The largest one fills what memory is left best.
  for (std::size_t i = 1; i < queue.size(); ++i) {
    if (choice.index && queue[i].need.memory <= queue[*choice.index].need.memory) continue;
    Verdict verdict = check(queue[i]);
    if (verdict.kind == Verdict::Kind::kReject) return {i, std::move(verdict)};
    if (verdict.kind == Verdict::Kind::kAdmit) choice = {i, std::move(verdict)};
  }
  if (choice.index) ++bypasses_;
  return choice;
}

void Claims::Restore(const LearnedShape& learned) {
  shapes_[learned.shape] = {{learned.memory}, {learned.gpu_memory}};
}

std::optional<LearnedShape> Claims::Find(Shape shape) const {
  const auto found = shapes_.find(shape);
  if (found == shapes_.end()) return std::nullopt;
  const LearnedShape known{shape, found->second.memory.learned, found->second.gpu_memory.learned};
  return known == LearnedShape{shape, {}, {}} ? std::nullopt : std::optional(known);
}

void Claims::RecordSuccess(Shape shape, std::optional<Bytes> memory,
                           std::optional<Bytes> gpu_memory) {
  Known& known = shapes_[shape];
  RaisePeak(known.memory.learned, memory);
  RaisePeak(known.gpu_memory.learned, gpu_memory);
}

void Claims::ObserveUsage(Shape shape, std::optional<Bytes> memory,
                          std::optional<Bytes> gpu_memory) {
  Known& known = shapes_[shape];
  known.memory.observed = std::max(known.memory.observed, memory.value_or(0));
  known.gpu_memory.observed = std::max(known.gpu_memory.observed, gpu_memory.value_or(0));
}

void Claims::RecordOom(Shape shape, std::optional<Bytes> peak, Bytes claimed) {
  Bytes& floor = shapes_[shape].memory.learned.floor;
  floor = std::max(floor, AfterDeath(peak, claimed));
}

void Claims::RecordGpuOom(Shape shape, std::optional<Bytes> peak, Bytes claimed) {
  Bytes& floor = shapes_[shape].gpu_memory.learned.floor;
  floor = std::max(floor, AfterDeath(peak, claimed));
}

Need Claims::Resolve(Shape shape, const Claim& declared, Bytes free) const {
  const auto found = shapes_.find(shape);
  const auto [memory, gpu_memory] = found == shapes_.end() ? Known{} : found->second;
  Need need;
  need.cpus = std::max(0.0, declared.cpus.value_or(0));
  std::tie(need.memory, need.memory_source) = ResolveAmount(
      declared.memory, memory.learned, memory.observed, std::clamp(free / 4, kMinGuess, kMaxGuess));
  // GPU use is never guessed.
  std::tie(need.gpu_memory, need.gpu_memory_source) =
      ResolveAmount(declared.gpu_memory, gpu_memory.learned, gpu_memory.observed, 0);
  return need;
}

Bytes WithMargin(Bytes peak) { return peak + std::max(peak / 10, kMinClaimMargin); }

Bytes WithMarginOfPrediction(Bytes peak) { return peak + std::max(peak / 20, kMinMargin); }

std::optional<Bytes> MemoryLimitFor(const Need& need, bool last_attempt) {
  if (need.memory == 0) return std::nullopt;
  // GPU memory lives in host memory while other steps have the GPU.
  const Bytes swapped_out = need.gpu_memory == 0 ? 0 : need.gpu_memory + kSwapHeadroom;
  switch (need.memory_source) {
    case ClaimSource::kDeclared:
      return need.memory + std::max(need.memory / 10, kMinClaimMargin) + swapped_out;
    case ClaimSource::kLearned:
      if (last_attempt) return std::nullopt;
      return need.memory * 2 + swapped_out;
    case ClaimSource::kGuessed:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace reveza::jobs
