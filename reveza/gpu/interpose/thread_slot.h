// What the closing side of the gate (gate.h) and of the contexts (context_guard.h) knows of each
// thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace reveza::interpose {

// Per-thread state; see AcquireFromList().
struct ThreadSlot {
  std::atomic<std::uint32_t> inside{0};
  std::uint32_t depth = 0;  // of nested calls; accessed by the owner only
  // Number of submissions; written by the owner, read by the agent.
  std::atomic<std::uint64_t> submissions{0};
  // Of context_guard.h: inside the driver, and the depth of nested calls.
  std::atomic<std::uint32_t> guarded{0};
  std::uint32_t guards = 0;
  std::atomic<bool> taken{false};
  ThreadSlot* next = nullptr;
};

// Returns an object of the list for the calling thread: that of an exited thread, or a new one.
// They are never freed. T has `taken`, to be cleared when the thread exits, and `next`, which is
// set once, before the object is published.
template <typename T>
T* AcquireFromList(std::atomic<T*>& list) {
  for (T* one = list.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    bool taken = false;
    if (one->taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) return one;
  }
  T* mine = new T;
  mine->taken.store(true, std::memory_order_relaxed);
  mine->next = list.load(std::memory_order_relaxed);
  while (!list.compare_exchange_weak(mine->next, mine, std::memory_order_acq_rel)) {
  }
  return mine;
}

namespace gate_internal {

extern constinit bool fence_on_entry;  // no membarrier; set before the gate is first closed
extern constinit thread_local ThreadSlot* slot;

ThreadSlot* AcquireSlot();
// Makes every thread execute a barrier, then waits until no thread's slot says `inside`. Returns
// false after `until_us`, or once if membarrier fails.
bool AwaitSlots(std::atomic<std::uint32_t> ThreadSlot::* inside, std::int64_t until_us);

}  // namespace gate_internal
}  // namespace reveza::interpose
