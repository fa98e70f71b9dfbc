#include "phi/cycles/team.h"

#include <sched.h>

namespace reveza::phi {
namespace {

constexpr int kLooks = 4000;

void Pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

void StageBarrier::Wait(int members) {
  const std::uint32_t stage = stage_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
    arrived_.store(0, std::memory_order_relaxed);
    stage_.store(stage + 1, std::memory_order_release);
    return;
  }
  for (int look = 0; stage_.load(std::memory_order_acquire) == stage; ++look) {
    if (look < kLooks) {
      Pause();
    } else {
      sched_yield();
    }
  }
}

}  // namespace reveza::phi
