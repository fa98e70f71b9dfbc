#include "runner/decide/claims.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace reveza::runner {
namespace {

constexpr Bytes kLeastMargin = 32 * kMiB;
constexpr Bytes kLeastGuess = 64 * kMiB;
constexpr Bytes kMostGuess = 4 * kGiB;
constexpr Bytes kLeastAfterDeath = 64 * kMiB;

Bytes WithMargin(Bytes peak) { return peak + std::max(peak / 10, kLeastMargin); }

Bytes AfterDeath(std::optional<Bytes> peak, Bytes claimed) {
  const Bytes had = std::max(peak.value_or(0), claimed);
  return std::max(had + had / 2, kLeastAfterDeath);
}

void Raise(std::optional<Bytes>& largest, Bytes& floor, std::optional<Bytes> peak) {
  if (!peak) return;
  largest = std::max(largest.value_or(0), *peak);
  // More than those had that died: now it is known how much is needed.
  if (*peak > floor - floor / 3) floor = 0;
}

// The amount and how it is known, of what was declared, learned, died and seen.
std::pair<Bytes, KnownBy> Decide(std::optional<Bytes> declared, std::optional<Bytes> largest,
                                 Bytes floor, Bytes seen, Bytes guess) {
  if (declared && *declared >= floor) return {*declared, KnownBy::kDeclared};
  if (largest) return {std::max({WithMargin(*largest), floor, seen}), KnownBy::kLearned};
  if (floor > 0) return {std::max(floor, seen), KnownBy::kLearned};
  return {std::max(guess, seen), KnownBy::kGuess};
}

}  // namespace

void Claims::Restore(const LearnedShape& learned) { Get(learned.shape).learned = learned; }

std::optional<LearnedShape> Claims::Of(Shape shape) const {
  const auto found = shapes_.find(shape);
  if (found == shapes_.end()) return std::nullopt;
  if (found->second.learned == LearnedShape{.shape = shape, .memory = {}, .gpu_memory = {}}) {
    return std::nullopt;
  }
  return found->second.learned;
}

void Claims::Succeeded(Shape shape, std::optional<Bytes> memory, std::optional<Bytes> gpu_memory) {
  LearnedShape& learned = Get(shape).learned;
  Raise(learned.memory, learned.memory_floor, memory);
  Raise(learned.gpu_memory, learned.gpu_memory_floor, gpu_memory);
}

void Claims::Seen(Shape shape, std::optional<Bytes> memory, std::optional<Bytes> gpu_memory) {
  Known& known = Get(shape);
  known.memory_seen = std::max(known.memory_seen, memory.value_or(0));
  known.gpu_memory_seen = std::max(known.gpu_memory_seen, gpu_memory.value_or(0));
}

void Claims::DiedOfMemory(Shape shape, std::optional<Bytes> peak, Bytes claimed) {
  LearnedShape& learned = Get(shape).learned;
  learned.memory_floor = std::max(learned.memory_floor, AfterDeath(peak, claimed));
}

void Claims::DiedOfGpuMemory(Shape shape, std::optional<Bytes> peak, Bytes claimed) {
  LearnedShape& learned = Get(shape).learned;
  learned.gpu_memory_floor = std::max(learned.gpu_memory_floor, AfterDeath(peak, claimed));
}

Need Claims::For(Shape shape, const Claim& declared, Bytes free) const {
  const auto found = shapes_.find(shape);
  const Known known = found == shapes_.end() ? Known{} : found->second;
  Need need;
  need.cpus = std::max(0.0, declared.cpus.value_or(0));
  std::tie(need.memory, need.memory_by) =
      Decide(declared.memory, known.learned.memory, known.learned.memory_floor, known.memory_seen,
             std::clamp(free / 4, kLeastGuess, kMostGuess));
  // Nobody guesses that a step uses the GPU.
  std::tie(need.gpu_memory, need.gpu_memory_by) =
      Decide(declared.gpu_memory, known.learned.gpu_memory, known.learned.gpu_memory_floor,
             known.gpu_memory_seen, 0);
  return need;
}

Claims::Known& Claims::Get(Shape shape) {
  Known& known = shapes_[shape];
  known.learned.shape = shape;
  return known;
}

}  // namespace reveza::runner
