#include "reveza/jobs/decide/claims.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace reveza::jobs {
namespace {

constexpr Bytes kMinClaimMargin = 32 * kMiB;
constexpr Bytes kMinGuess = 64 * kMiB;
constexpr Bytes kMaxGuess = 4 * kGiB;
constexpr Bytes kMinAfterDeath = 64 * kMiB;

Bytes WithMargin(Bytes peak) { return peak + std::max(peak / 10, kMinClaimMargin); }

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
