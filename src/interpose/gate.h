// The gate: where a call that submits work to the GPU waits while its job is not in the slice.
//
// Open path, per call: one thread-local load, two plain stores, one plain load. No lock, no
// fence, no system call. The closing side pays: it stores the gate's new state, makes every thread
// of the process execute a barrier (membarrier, private expedited), and then waits until no
// thread's slot says "inside". Either a thread's load saw the closed gate, or the closer sees the
// thread's slot: the barrier leaves no third case. Where the kernel has no membarrier, each entry
// executes a fence instead.
//
// Calls inside calls (a callback of the driver, one wrapper that calls another) count depth. A
// thread that waits, here or for memory, is not inside.
//
// Thread-safety: GateScope from any thread; Close, Open and the like from the agent only.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace reveza::interpose {

// Which stream a null stream handle means. kNone: the call has no stream, or ends before it
// returns; it leaves no queue behind.
enum class StreamKind { kLegacy, kPerThread, kNone };

// One thread's place at the gate. Lives as long as the process; a thread that ends hands its
// slot on to a later one.
struct ThreadSlot {
  std::atomic<std::uint32_t> inside{0};
  std::uint32_t depth = 0;  // of nested calls; only the owner touches it
  // Written by the owner, read by the agent: how often something was submitted.
  std::atomic<std::uint64_t> submissions{0};
  std::atomic<bool> taken{false};
  ThreadSlot* next = nullptr;  // set once, before the slot is published
};

namespace gate_internal {

enum State : std::uint32_t {
  kOpen = 0,     // go on
  kBounded = 1,  // somebody waits for this GPU: the queue is bounded
  kClosed = 2,   // wait
};

extern constinit std::atomic<std::uint32_t> state;
extern constinit bool fence_on_entry;  // no membarrier; set before the gate is first closed
extern constinit thread_local ThreadSlot* slot;

ThreadSlot* TakeSlot();
// The gate is not simply open. Returns with the gate passed and the slot inside; true: the queue is
// bounded.
bool EnterSlow(ThreadSlot* slot, CUstream stream, StreamKind kind);
// After a call under kBounded.
void AfterBoundedCall(CUstream stream, StreamKind kind);

}  // namespace gate_internal

class GateScope {
 public:
  explicit GateScope(CUstream stream = nullptr, StreamKind kind = StreamKind::kNone)
      : stream_(stream), kind_(kind) {
    namespace internal = gate_internal;
    slot_ = internal::slot;
    if (slot_ == nullptr) [[unlikely]] {
      slot_ = internal::TakeSlot();
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
    // Release: what the call did comes before the closer's "nobody is inside".
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

// While it lives this thread is not counted inside, however deep it is: it waits for memory, and
// the gate may close meanwhile. On the way back it waits for an open gate if it was inside.
class GatePause {
 public:
  GatePause();
  ~GatePause();
  GatePause(const GatePause&) = delete;
  GatePause& operator=(const GatePause&) = delete;

 private:
  bool was_inside_;
};

// What the agent does to the gate.
class Gate {
 public:
  // Registers with membarrier; call once before the first Close. After a fork: again.
  static void Prepare();
  // Closes and waits until nobody is inside. false: somebody still is after `limit_us`; the gate
  // stays closed (the caller opens it again).
  static bool Close(std::int64_t limit_us);
  // Opens; `bounded`: with the queue bound.
  static void Open(bool bounded);
  static bool IsClosed();
  // Switches the bound of an open gate on or off; no effect on a closed one.
  static void SetBounded(bool bounded);
  // Sum over all threads of how often something was submitted.
  static std::uint64_t Submissions();
  // Child of a fork: no other thread exists, the gate is open for good.
  static void ResetAfterFork();
};

}  // namespace reveza::interpose
