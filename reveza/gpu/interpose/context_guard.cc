#include "reveza/gpu/interpose/context_guard.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <optional>

#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {
namespace context_guard_internal {

constinit std::atomic<std::uint32_t> state{kHere};

namespace {

long Futex(int operation, std::uint32_t value, const timespec* timeout) {
  static_assert(sizeof(state) == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&state),
                 operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

// Blocks until the contexts are back. The thread must not hold a guard. While they are only leaving
// it asks for nothing: the attempt may be given up.
void WaitUntilHere() {
  std::optional<GateWait> wait;
  for (;;) {
    const std::uint32_t now = state.load(std::memory_order_acquire);
    if (now == kHere) return;
    if (now == kAway && !wait) wait.emplace();
    const timespec timeout = wait ? wait->NextTimeout() : timespec{1, 0};
    const long result = Futex(FUTEX_WAIT, now, &timeout);
    if (!wait) continue;
    if (result != 0 && errno == EINTR) wait->OnInterrupt();
    if (state.load(std::memory_order_acquire) == kAway) wait->Tick();
  }
}

void Set(State next) {
  state.store(next, std::memory_order_seq_cst);
  Futex(FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace

void EnterSlow(ThreadSlot* slot) {
  // Calls of a signal handler meanwhile hold guards of their own.
  const std::uint32_t guards = slot->guards;
  do {
    slot->guards = 0;
    slot->guarded.store(0, std::memory_order_release);
    WaitUntilHere();
    slot->guards = guards;
    slot->guarded.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } while (state.load(std::memory_order_acquire) != kHere);
}

}  // namespace context_guard_internal

TryContextGuard::TryContextGuard() {
  ThreadSlot* mine =
      gate_internal::slot != nullptr ? gate_internal::slot : gate_internal::AcquireSlot();
  ++mine->guards;
  mine->guarded.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  held_ = ContextDoor::IsOpen();
}

TryContextGuard::~TryContextGuard() {
  ThreadSlot* mine = gate_internal::slot;
  if (--mine->guards == 0) mine->guarded.store(0, std::memory_order_release);
}

ContextGuardPause::ContextGuardPause() {
  ThreadSlot* mine = gate_internal::slot;
  if (mine == nullptr || mine->guards == 0) return;
  guards_ = mine->guards;
  mine->guards = 0;
  mine->guarded.store(0, std::memory_order_release);
}

ContextGuardPause::~ContextGuardPause() {
  if (guards_ == 0) return;
  ThreadSlot* mine = gate_internal::slot;
  mine->guards = guards_;
  mine->guarded.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!ContextDoor::IsOpen()) context_guard_internal::EnterSlow(mine);
}

bool ContextDoor::Close(std::int64_t limit_us) {
  const std::int64_t until = NowMicroseconds() + limit_us;
  context_guard_internal::Set(context_guard_internal::kLeaving);
  return gate_internal::AwaitSlots(&ThreadSlot::guarded, until);
}

void ContextDoor::SetAway() { context_guard_internal::Set(context_guard_internal::kAway); }
void ContextDoor::Open() { context_guard_internal::Set(context_guard_internal::kHere); }

bool ContextDoor::IsOpen() {
  return context_guard_internal::state.load(std::memory_order_acquire) ==
         context_guard_internal::kHere;
}

void ContextDoor::ResetAfterFork() {
  context_guard_internal::state.store(context_guard_internal::kHere, std::memory_order_relaxed);
}

}  // namespace reveza::interpose
