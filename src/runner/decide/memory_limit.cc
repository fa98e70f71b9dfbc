#include "runner/decide/memory_limit.h"

#include <algorithm>

namespace reveza::runner {
namespace {

constexpr Bytes kLeastMargin = 32 * kMiB;
// What leaves the GPU leaves so much of its limit free, and else stays: kHeadroomReserve of
// swap/arena.cc.
constexpr Bytes kLeftFree = 256 * kMiB;

}  // namespace

std::optional<Bytes> MemoryLimitFor(const Need& need, bool last_turn) {
  if (need.memory == 0) return std::nullopt;
  // What does not fit on the GPU while others have it is kept in host memory meanwhile.
  const Bytes moved_out = need.gpu_memory == 0 ? 0 : need.gpu_memory + kLeftFree;
  switch (need.memory_by) {
    case KnownBy::kDeclared:
      return need.memory + std::max(need.memory / 10, kLeastMargin) + moved_out;
    case KnownBy::kLearned:
      if (last_turn) return std::nullopt;
      return need.memory * 2 + moved_out;
    case KnownBy::kGuess:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace reveza::runner
