#include "reveza/gpu/interpose/gate.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <new>

#include "reveza/gpu/interpose/context_guard.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/queue_bound.h"

namespace reveza::interpose {
namespace gate_internal {

constinit std::atomic<std::uint32_t> state{kOpen};
constinit bool fence_on_entry = false;
constinit thread_local ThreadSlot* slot = nullptr;

namespace {

constinit std::atomic<ThreadSlot*> all_slots{nullptr};
constinit std::atomic<std::int64_t> admissions{0};  // left, in the state kAdmitting
pthread_key_t slot_key;
pthread_once_t slot_key_once = PTHREAD_ONCE_INIT;

void ReleaseSlot(void* value) {
  auto* mine = static_cast<ThreadSlot*>(value);
  slot = nullptr;
  mine->depth = mine->guards = 0;
  mine->inside.store(0, std::memory_order_release);
  mine->guarded.store(0, std::memory_order_release);
  mine->taken.store(false, std::memory_order_release);
}

void MakeSlotKey() { pthread_key_create(&slot_key, ReleaseSlot); }

long Futex(int operation, std::uint32_t value, const timespec* timeout) {
  static_assert(sizeof(state) == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&state),
                 operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

bool IsAdmitting(std::uint32_t now) { return (now & kStateMask) == kAdmitting; }

bool Blocks(std::uint32_t now) {
  return now == kClosed || (IsAdmitting(now) && admissions.load(std::memory_order_relaxed) <= 0);
}

// Returns whether a thread that is inside may go on in the state `now`; takes an admission.
bool MayPass(std::uint32_t now) {
  if (IsAdmitting(now)) return admissions.fetch_sub(1, std::memory_order_relaxed) > 0;
  return now != kClosed;
}

// Blocks while the gate is closed. The thread must not be inside.
void WaitWhileClosed() {
  const ContextGuardPause outside;
  GateWait wait;
  for (;;) {
    const std::uint32_t now = state.load(std::memory_order_acquire);
    if (!Blocks(now)) return;
    const timespec timeout = wait.NextTimeout();
    const long result = Futex(FUTEX_WAIT, now, &timeout);
    if (result != 0 && errno == EINTR) wait.OnInterrupt();
    // Tick() requests a time slice, which is wrong once the gate is open.
    if (Blocks(state.load(std::memory_order_acquire))) wait.Tick();
  }
}

}  // namespace

ThreadSlot* AcquireSlot() {
  pthread_once(&slot_key_once, MakeSlotKey);
  slot = AcquireFromList(all_slots);
  pthread_setspecific(slot_key, slot);
  return slot;
}

bool EnterSlow(ThreadSlot* mine, CUstream stream, StreamKind kind) {
  for (;;) {
    const std::uint32_t now = state.load(std::memory_order_acquire);
    if (!MayPass(now)) {
      mine->inside.store(0, std::memory_order_release);
      WaitWhileClosed();
    } else if (now != kBounded) {
      return false;
    } else if (kind != StreamKind::kNone && QueueBound::MustWait(stream, kind)) {
      mine->inside.store(0, std::memory_order_release);
      QueueBound::Wait(stream, kind);
    } else {
      return true;
    }
    mine->inside.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

bool AwaitSlots(std::atomic<std::uint32_t> ThreadSlot::* inside, std::int64_t until_us) {
  if (fence_on_entry) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    // Failed after registration (out of memory, or a seccomp filter installed later): threads may
    // be inside unnoticed. From now on every entry executes a fence, so the next time is reliable.
    fence_on_entry = true;
    return false;
  }
  for (ThreadSlot* one = all_slots.load(std::memory_order_acquire); one != nullptr;
       one = one->next) {
    useconds_t pause = 10;
    while ((one->*inside).load(std::memory_order_acquire) != 0) {
      if (NowMicroseconds() > until_us) return false;
      usleep(pause);
      if (pause < 500) pause *= 2;
    }
  }
  return true;
}

void AfterBoundedCall(CUstream stream, StreamKind kind) { QueueBound::OnSubmit(stream, kind); }

}  // namespace gate_internal

GatePause::GatePause() {
  ThreadSlot* mine = gate_internal::slot;
  was_inside_ = mine != nullptr && mine->inside.load(std::memory_order_relaxed) != 0;
  if (was_inside_) mine->inside.store(0, std::memory_order_release);
}

GatePause::~GatePause() {
  if (!was_inside_) return;
  namespace internal = gate_internal;
  ThreadSlot* mine = internal::slot;
  for (;;) {
    mine->inside.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (internal::MayPass(internal::state.load(std::memory_order_acquire))) return;
    mine->inside.store(0, std::memory_order_release);
    internal::WaitWhileClosed();
  }
}

void Gate::Prepare() {
  const long registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  if (registered != 0) gate_internal::fence_on_entry = true;
}

bool Gate::Close(std::int64_t limit_us) {
  namespace internal = gate_internal;
  const std::int64_t until = NowMicroseconds() + limit_us;
  internal::state.store(internal::kClosed, std::memory_order_seq_cst);
  return internal::AwaitSlots(&ThreadSlot::inside, until);
}

void Gate::Open(bool bounded) {
  namespace internal = gate_internal;
  internal::state.store(bounded ? internal::kBounded : internal::kOpen, std::memory_order_release);
  internal::Futex(FUTEX_WAKE, INT_MAX, nullptr);
}

// The number of the admission keeps a thread that saw the previous one from sleeping through this.
void Gate::Admit(std::uint32_t submissions) {
  namespace internal = gate_internal;
  static constinit std::uint32_t number = 0;
  internal::admissions.store(submissions, std::memory_order_relaxed);
  internal::state.store(++number << 2 | internal::kAdmitting, std::memory_order_release);
  internal::Futex(FUTEX_WAKE, INT_MAX, nullptr);
}

bool Gate::AdmissionUsedUp() {
  return gate_internal::admissions.load(std::memory_order_relaxed) <= 0;
}

bool Gate::IsClosed() {
  const std::uint32_t now = gate_internal::state.load(std::memory_order_acquire);
  return now != gate_internal::kOpen && now != gate_internal::kBounded;
}

void Gate::SetBounded(bool bounded) {
  if (!IsClosed()) Open(bounded);
}

std::uint64_t Gate::Submissions() {
  std::uint64_t sum = 0;
  for (ThreadSlot* one = gate_internal::all_slots.load(std::memory_order_acquire); one != nullptr;
       one = one->next) {
    sum += one->submissions.load(std::memory_order_relaxed);
  }
  return sum;
}

void Gate::ResetAfterFork() {
  namespace internal = gate_internal;
  for (ThreadSlot* one = internal::all_slots.load(std::memory_order_relaxed); one != nullptr;
       one = one->next) {
    one->inside.store(0, std::memory_order_relaxed);
    one->guarded.store(0, std::memory_order_relaxed);
    if (one == internal::slot) continue;
    one->depth = one->guards = 0;
    one->taken.store(false, std::memory_order_relaxed);
  }
  internal::state.store(internal::kOpen, std::memory_order_relaxed);
  ContextDoor::ResetAfterFork();
}

}  // namespace reveza::interpose
