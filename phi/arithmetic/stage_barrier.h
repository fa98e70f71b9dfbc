// A barrier for threads that work in lockstep. Thread-safe.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace reveza::phi {

// Spins before it yields, because stages last microseconds.
class StageBarrier {
 public:
  // Blocks until `members` threads wait.
  void Wait(int members) {
    constexpr int kSpins = 4000;
    const std::uint32_t stage = stage_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      stage_.store(stage + 1, std::memory_order_release);
      return;
    }
    for (int spin = 0; stage_.load(std::memory_order_acquire) == stage; ++spin) {
      if (spin < kSpins) {
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
      } else {
        sched_yield();
      }
    }
  }

 private:
  std::atomic<int> arrived_ = 0;
  std::atomic<std::uint32_t> stage_ = 0;
};

}  // namespace reveza::phi
