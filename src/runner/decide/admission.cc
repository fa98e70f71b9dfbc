#include "runner/decide/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace reveza::runner {
namespace {

constexpr double kCpuTolerance = 1e-6;

Verdict Wait(std::string reason) { return {Verdict::Kind::kWait, std::move(reason)}; }
Verdict Never(std::string reason) { return {Verdict::Kind::kNever, std::move(reason)}; }

Bytes Less(Bytes from, Bytes what) { return from > what ? from - what : 0; }

// What a step was promised and does not have yet.
Bytes Promised(Bytes claimed, KnownBy by, std::optional<Bytes> has, bool grace_over) {
  if (grace_over && (by == KnownBy::kGuess || !has)) return 0;
  return Less(claimed, has.value_or(0));
}

bool GraceOver(const Admitted& step, const Reading& reading, const Budget& budget) {
  return reading.now - step.since >= budget.grace;
}

Bytes PromisedMemory(const Reading& reading, std::span<const Admitted> running,
                     const Budget& budget) {
  Bytes promised = 0;
  for (const Admitted& step : running) {
    promised += Promised(step.need.memory, step.need.memory_by, step.memory,
                         GraceOver(step, reading, budget));
  }
  return promised;
}

std::optional<Bytes> Available(const Reading& reading) {
  if (!reading.memory_available) return reading.cgroup_headroom;
  return std::min(*reading.memory_available,
                  reading.cgroup_headroom.value_or(*reading.memory_available));
}

// "2.1 GiB are free, 512 MiB kept back, 1 GiB promised to others, a step takes 3 GiB"
std::string AmountsText(Bytes free, Bytes reserve, Bytes promised, Bytes need) {
  std::string text = FormatBytes(free) + " are free";
  if (reserve > 0) text += fmt::format(", {} kept back", FormatBytes(reserve));
  if (promised > 0) text += fmt::format(", {} promised to others", FormatBytes(promised));
  return text + fmt::format(", a step takes {}", FormatBytes(need));
}

std::optional<Verdict> ConsiderStall(std::string_view who, std::optional<double> share,
                                     double most) {
  if (!share || *share <= most) return std::nullopt;
  return Wait(
      fmt::format("memory pressure: {} waited for memory {:.0f} % of the last 10 s, at most "
                  "{:.0f} % to start more",
                  who, *share, most));
}

std::optional<Verdict> ConsiderPressure(const Reading& reading, std::span<const Admitted> running,
                                        const Budget& budget) {
  // When nothing of ours runs the pressure is not ours, and waiting would not end it.
  if (running.empty()) return std::nullopt;
  if (auto verdict = ConsiderStall("all", reading.memory_full, budget.memory_full_most)) {
    return verdict;
  }
  return ConsiderStall("some", reading.memory_some, budget.memory_some_most);
}

std::optional<Verdict> ConsiderCpus(const Need& need, const Reading& reading,
                                    std::span<const Admitted> running, const Budget& budget) {
  if (need.cpus <= 0) return std::nullopt;
  if (need.cpus > budget.cpus + kCpuTolerance) {
    return Never(fmt::format("the CPU: a step takes {:.3g} cores, {:.3g} may be used", need.cpus,
                             budget.cpus));
  }
  double taken = 0;
  for (const Admitted& step : running) taken += step.paused ? 0 : step.need.cpus;
  if (taken + need.cpus > budget.cpus + kCpuTolerance) {
    return Wait(fmt::format("the CPU: {:.3g} of {:.3g} cores are taken, a step takes {:.3g}", taken,
                            budget.cpus, need.cpus));
  }
  const double others = reading.others_cpus.value_or(0);
  if (!running.empty() && taken + others + need.cpus > budget.cpus + kCpuTolerance) {
    return Wait(
        fmt::format("the CPU: {:.3g} of {:.3g} cores are taken, {:.3g} by others, a step "
                    "takes {:.3g}",
                    taken + others, budget.cpus, others, need.cpus));
  }
  return std::nullopt;
}

// The share of the steps, whatever is free.
std::optional<Verdict> ConsiderMemoryBudget(const Need& need, std::span<const Admitted> running,
                                            const Budget& budget) {
  if (!budget.memory) return std::nullopt;
  if (need.memory > *budget.memory && need.memory_by == KnownBy::kDeclared) {
    return Never(fmt::format("memory: a step takes {}, steps may have {} together",
                             FormatBytes(need.memory), FormatBytes(*budget.memory)));
  }
  if (running.empty()) return std::nullopt;
  Bytes taken = 0;
  for (const Admitted& step : running) {
    taken += std::max(step.need.memory, step.memory.value_or(0));
  }
  if (taken + need.memory <= *budget.memory) return std::nullopt;
  return Wait(fmt::format("memory: {} of {} are taken, a step takes {}", FormatBytes(taken),
                          FormatBytes(*budget.memory), FormatBytes(need.memory)));
}

std::optional<Verdict> ConsiderMemory(const Need& need, const Reading& reading,
                                      std::span<const Admitted> running, const Budget& budget) {
  if (auto verdict = ConsiderMemoryBudget(need, running, budget)) return verdict;
  const bool too_large =
      reading.memory_total && need.memory > Less(*reading.memory_total, budget.memory_reserve);
  if (too_large && need.memory_by == KnownBy::kDeclared) {
    return Never(fmt::format("memory: a step takes {}, there are {}, {} kept back",
                             FormatBytes(need.memory), FormatBytes(*reading.memory_total),
                             FormatBytes(budget.memory_reserve)));
  }
  // What nobody is sure of is tried alone.
  if (running.empty() && (too_large || need.memory_by == KnownBy::kGuess)) return std::nullopt;
  const auto available = Available(reading);
  if (!available) return std::nullopt;
  const Bytes promised = PromisedMemory(reading, running, budget);
  if (need.memory <= Less(*available, budget.memory_reserve + promised)) return std::nullopt;
  return Wait("memory: " + AmountsText(*available, budget.memory_reserve, promised, need.memory));
}

struct GpuRoom {
  const GpuMemory* gpu = nullptr;
  Bytes promised = 0;
  Bytes free = 0;       // less kept back and promised
  bool in_use = false;  // by steps of ours
  bool taken = false;   // by one that has it alone
};

GpuRoom RoomOn(const GpuMemory& gpu, const Reading& reading, std::span<const Admitted> running,
               const Budget& budget) {
  GpuRoom room{.gpu = &gpu};
  Bytes held = 0;  // by steps that keep what they claim, as they were last looked at
  for (const Admitted& step : running) {
    if (step.gpu != gpu.uuid) continue;
    room.in_use = true;
    room.taken = room.taken || step.need.gpu_alone;
    room.promised += Promised(step.need.gpu_memory, step.need.gpu_memory_by, step.gpu_memory,
                              GraceOver(step, reading, budget));
    held += std::min(step.gpu_memory.value_or(0), step.need.gpu_memory);
  }
  // What they have given back since, they may take again.
  room.promised += Less(held, gpu.used);
  room.free = Less(Less(gpu.total, gpu.used), budget.gpu_memory_reserve + room.promised);
  return room;
}

Verdict WaitForTheGpu(const Need& need) {
  if (need.gpu_alone) {
    return Wait(
        "GPU memory: a step was refused it beside others, and waits until it can have the GPU "
        "alone");
  }
  return Wait("GPU memory: a step that was refused it beside others has the GPU alone");
}

// Admits with the GPU, or says why not.
Verdict ConsiderGpu(const Need& need, const Reading& reading, std::span<const Admitted> running,
                    const Budget& budget, const std::vector<platform::Uuid>* named) {
  if (need.gpu_memory == 0) return {};
  if (!reading.gpus) return Wait("GPU memory: no GPU can be read now");
  if (reading.gpus->empty()) return Never("GPU memory: no GPU is known");
  if (named != nullptr && named->empty()) {
    return Never("GPU memory: CUDA_VISIBLE_DEVICES hides all GPUs from a step that claims some");
  }
  GpuRoom best;
  Bytes largest = 0;
  bool passed_over = false;  // one where who is there, or who comes, is to be alone
  for (const GpuMemory& gpu : *reading.gpus) {
    if (named != nullptr && std::ranges::find(*named, gpu.uuid) == named->end()) continue;
    largest = std::max(largest, Less(gpu.total, budget.gpu_memory_reserve));
    const GpuRoom room = RoomOn(gpu, reading, running, budget);
    if (room.taken || (need.gpu_alone && room.in_use)) {
      passed_over = true;
    } else if (best.gpu == nullptr || room.free > best.free) {
      best = room;
    }
  }
  if (best.gpu == nullptr && passed_over) return WaitForTheGpu(need);
  if (best.gpu == nullptr) return Wait("GPU memory: the GPU that a step names cannot be read now");
  Verdict admitted;
  admitted.gpu = best.gpu->uuid;
  if (need.gpu_memory <= best.free) return admitted;
  // Whoever does not fit now waits for its turn, and not here.
  const Bytes alone = Less(best.gpu->total, budget.gpu_memory_reserve);
  if (reading.gpu_is_shared && need.gpu_memory <= alone) return admitted;
  if (need.gpu_memory > largest) {
    if (need.gpu_memory_by == KnownBy::kDeclared && !reading.all_gpus) {
      return Wait(
          fmt::format("GPU memory: a step takes {}, the largest GPU that can be read now "
                      "has {} to give",
                      FormatBytes(need.gpu_memory), FormatBytes(largest)));
    }
    if (need.gpu_memory_by == KnownBy::kDeclared) {
      return Never(fmt::format("GPU memory: a step takes {}, the largest GPU has {} to give",
                               FormatBytes(need.gpu_memory), FormatBytes(largest)));
    }
    if (!best.in_use) return admitted;
  }
  return Wait("GPU memory: " + AmountsText(Less(best.gpu->total, best.gpu->used),
                                           budget.gpu_memory_reserve, best.promised,
                                           need.gpu_memory));
}

}  // namespace

std::optional<Bytes> FreeMemory(const Reading& reading, std::span<const Admitted> running,
                                const Budget& budget) {
  const auto available = Available(reading);
  if (!available) return std::nullopt;
  return Less(*available, budget.memory_reserve + PromisedMemory(reading, running, budget));
}

Verdict Consider(const Need& need, const Reading& reading, std::span<const Admitted> running,
                 const Budget& budget, const std::vector<platform::Uuid>* named) {
  auto verdict = ConsiderPressure(reading, running, budget);
  const auto cpus = ConsiderCpus(need, reading, running, budget);
  const auto memory = ConsiderMemory(need, reading, running, budget);
  const Verdict gpu = ConsiderGpu(need, reading, running, budget, named);
  // What can never be is said at once.
  for (const auto& one : {cpus, memory, std::optional(gpu)}) {
    if (one && one->kind == Verdict::Kind::kNever) return *one;
  }
  if (!verdict) verdict = cpus;
  if (!verdict) verdict = memory;
  return verdict.value_or(gpu);
}

Admission::Choice Admission::Next(const Reading& reading, std::span<const Waiting> queue,
                                  std::span<const Admitted> running, const Budget& budget) {
  if (queue.empty()) return {};
  if (first_ != queue.front().step) {
    first_ = queue.front().step;
    passed_ = 0;
  }
  Choice first;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto* named = queue[i].named ? &*queue[i].named : nullptr;
    Verdict verdict = Consider(queue[i].need, reading, running, budget, named);
    if (verdict.kind != Verdict::Kind::kWait) {
      if (i > 0 && verdict.kind == Verdict::Kind::kAdmit) ++passed_;
      return {i, std::move(verdict)};
    }
    if (i > 0) continue;
    first.verdict = std::move(verdict);
    if (passed_ < kMostPassed) continue;
    first.verdict.reason += "; nothing passes it any more";
    break;
  }
  return first;
}

}  // namespace reveza::runner
