// Keeps threads out of the driver while the contexts of the process are off the card: then almost
// any call corrupts the process.
//
// Every wrapper holds a guard, except those that hold the gate, which is closed meanwhile. It works
// like the gate (gate.h): the fast path is two plain stores and a plain load, and the closing side
// pays for it. A thread that waits at the gate, or for memory, holds no guard (GatePause), so
// that the contexts of a paused program can leave.
//
// ContextGuard may be used on any thread; ContextDoor only by the agent.
#pragma once

#include <atomic>
#include <cstdint>

#include "reveza/gpu/interpose/thread_slot.h"

namespace reveza::interpose {

namespace context_guard_internal {

enum State : std::uint32_t {
  kHere = 0,
  kLeaving = 1,  // or coming back
  kAway = 2,
};

extern constinit std::atomic<std::uint32_t> state;

// Slow path, when the state is not kHere: blocks until the contexts are back, for which it asks for
// the turn, and returns with the guard held.
void EnterSlow(ThreadSlot* slot);

}  // namespace context_guard_internal

// Holds the calling thread inside the driver; blocks at construction while the contexts are away.
class ContextGuard {
 public:
  ContextGuard() {
    slot_ = gate_internal::slot;
    if (slot_ == nullptr) [[unlikely]] {
      slot_ = gate_internal::AcquireSlot();
    }
    if (slot_->guards++ != 0) return;
    slot_->guarded.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (gate_internal::fence_on_entry) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (context_guard_internal::state.load(std::memory_order_acquire) !=
        context_guard_internal::kHere) [[unlikely]] {
      context_guard_internal::EnterSlow(slot_);
    }
  }

  ~ContextGuard() {
    if (--slot_->guards != 0) return;
    // Release: orders the effects of the call before the closer's check.
    slot_->guarded.store(0, std::memory_order_release);
  }

  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  ThreadSlot* slot_;
};

// Holds a guard, unless the contexts are away.
class TryContextGuard {
 public:
  TryContextGuard();
  ~TryContextGuard();
  TryContextGuard(const TryContextGuard&) = delete;
  TryContextGuard& operator=(const TryContextGuard&) = delete;

  bool held() const { return held_; }

 private:
  bool held_;
};

// Releases the guard of the calling thread for its lifetime, at any depth. On destruction the
// thread waits until the contexts are back.
class ContextGuardPause {
 public:
  ContextGuardPause();
  ~ContextGuardPause();
  ContextGuardPause(const ContextGuardPause&) = delete;
  ContextGuardPause& operator=(const ContextGuardPause&) = delete;

 private:
  std::uint32_t guards_ = 0;
};

// Control of the guards, for the agent.
class ContextDoor {
 public:
  // Keeps threads out and waits until none holds a guard. Returns false after `limit_us`, or once
  // if membarrier fails; call Open() then.
  static bool Close(std::int64_t limit_us);
  // Threads that come from now on ask for the turn.
  static void SetAway();
  static void Open();
  static bool IsOpen();
  // Opens it permanently in a forked child.
  static void ResetAfterFork();
};

}  // namespace reveza::interpose
