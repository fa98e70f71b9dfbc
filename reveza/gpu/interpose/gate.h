// The gate blocks calls that submit work to the GPU while the process does not own the time slice.
//
// Fast path of an open gate: one thread-local load, two plain stores, one plain load; no lock,
// fence or system call. The closing side pays for it: it stores the closed state, makes every
// thread of the process execute a barrier (membarrier, private expedited), and waits until no
// thread's slot says "inside". Either a thread's load sees the closed gate or the closer sees the
// thread's slot; the barrier excludes a third case. If the kernel lacks membarrier, each entry
// executes a fence.
//
// Nested calls (a callback of the driver, a wrapper calling another) increment a depth counter. A
// thread that is blocked, at the gate or for memory, does not count as inside.
//
// GateScope and GatePause may be used on any thread; Gate only by the agent.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "reveza/gpu/interpose/context_guard.h"
#include "reveza/gpu/interpose/thread_slot.h"

namespace reveza::interpose {

// Meaning of a null stream handle. kNone: the call takes no stream or is synchronous, and leaves
// nothing queued.
enum class StreamKind { kLegacy, kPerThread, kNone };

namespace gate_internal {

enum State : std::uint32_t {
  kOpen = 0,       // calls pass
  kBounded = 1,    // calls pass, but the queue is bounded: another client waits for the GPU
  kClosed = 2,     // calls block
  kAdmitting = 3,  // as many calls pass as are admitted; the upper bits number the admissions
};
inline constexpr std::uint32_t kStateMask = 3;

extern constinit std::atomic<std::uint32_t> state;
// Slow path, when the state is not kOpen: blocks until the thread may pass, and returns with the
// slot inside. Returns whether the queue is bounded.
bool EnterSlow(ThreadSlot* slot, CUstream stream, StreamKind kind);
// Called after each call made under kBounded.
void AfterBoundedCall(CUstream stream, StreamKind kind);

}  // namespace gate_internal

// Holds the calling thread inside the gate; blocks at construction while the gate is closed.
class GateScope {
 public:
  explicit GateScope(CUstream stream = nullptr, StreamKind kind = StreamKind::kNone)
      : stream_(stream), kind_(kind) {
    namespace internal = gate_internal;
    slot_ = internal::slot;
    if (slot_ == nullptr) [[unlikely]] {
      slot_ = internal::AcquireSlot();
    }
    if (slot_->depth++ != 0) return;
    slot_->inside.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (internal::fence_on_entry) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (internal::state.load(std::memory_order_acquire) != internal::kOpen) [[unlikely]] {
      bounded_ = internal::EnterSlow(slot_, stream, kind) && kind != StreamKind::kNone;
    }
    slot_->submissions.store(slot_->submissions.load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
  }

  ~GateScope() {
    if (slot_->depth != 1) {
      --slot_->depth;
      return;
    }
    if (bounded_) [[unlikely]] {
      gate_internal::AfterBoundedCall(stream_, kind_);
    }
    slot_->depth = 0;
    // Release: orders the effects of the call before the closer's check.
    slot_->inside.store(0, std::memory_order_release);
  }

  GateScope(const GateScope&) = delete;
  GateScope& operator=(const GateScope&) = delete;

 private:
  ThreadSlot* slot_;
  CUstream stream_;
  StreamKind kind_;
  bool bounded_ = false;
};

// Takes the calling thread out of the gate for its lifetime, at any nesting depth, so that the gate
// can close while the thread waits for memory, and out of its ContextGuard. On destruction
// re-enters if it was inside, blocking while the gate is closed.
class GatePause {
 public:
  GatePause();
  ~GatePause();
  GatePause(const GatePause&) = delete;
  GatePause& operator=(const GatePause&) = delete;

 private:
  ContextGuardPause outside_;
  bool was_inside_;
};

// Control of the gate, for the agent.
class Gate {
 public:
  // Registers with membarrier; call once before the first Close, and again after a fork.
  static void Prepare();
  // Closes the gate and waits until no thread is inside. Returns false after `limit_us`, or once if
  // membarrier fails; the gate then stays closed and the caller must open it.
  static bool Close(std::int64_t limit_us);
  // Lets `submissions` calls pass the closed gate.
  static void Admit(std::uint32_t submissions);
  // Returns whether all admitted calls have passed.
  static bool AdmissionUsedUp();
  // Opens the gate, with or without the queue bound.
  static void Open(bool bounded);
  static bool IsClosed();
  // Enables or disables the queue bound of an open gate; no effect on a closed one.
  static void SetBounded(bool bounded);
  // Returns the number of submissions of all threads, exited ones included.
  static std::uint64_t Submissions();
  // Opens the gate permanently in a forked child, in which no other thread exists.
  static void ResetAfterFork();
};

}  // namespace reveza::interpose
