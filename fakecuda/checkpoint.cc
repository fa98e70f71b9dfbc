#include "fakecuda/checkpoint.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fakecuda/entries.h"
#include "fakecuda/executor.h"
#include "fakecuda/state.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

// Returns whether the call does not touch a context.
bool MayAlwaysBeCalled(std::string_view base) {
  for (const std::string_view name :
       {"cuCtxGetCurrent", "cuCtxSetCurrent", "cuGetErrorName", "cuGetErrorString",
        "cuDriverGetVersion", "cuGetProcAddress", "cuGetExportTable"}) {
    if (base == name) return true;
  }
  return base.starts_with("cuCheckpoint");
}

bool Submits(std::string_view base) {
  for (const std::string_view prefix :
       {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "cuMemAlloc"}) {
    if (base.starts_with(prefix)) return true;
  }
  return false;
}

[[noreturn]] void Die(int entry) {
  std::fprintf(stderr, "fakecuda: %s while the process is locked for a checkpoint\n",
               kEntries[entry].name);
  std::abort();
}

// Returns whether the process has memory that the driver cannot carry along.
bool HasUnsupportedMemory(const State& state) {
  for (const auto& [start, allocation] : state.allocations) {
    if (allocation.kind == MemoryKind::kManaged || allocation.kind == MemoryKind::kImported) {
      return true;
    }
  }
  return false;
}

}  // namespace

Checkpoint& Checkpoint::Get() {
  static Checkpoint* checkpoint = new Checkpoint;  // used by threads that outlive main
  return *checkpoint;
}

CUresult Checkpoint::Enter(int entry) {
  const std::string_view base = kEntries[entry].base;
  std::atomic<int>& inside = inside_[static_cast<std::size_t>(entry)];
  if (MayAlwaysBeCalled(base)) {
    inside.fetch_add(1);
    return CUDA_SUCCESS;
  }
  for (;;) {
    inside.fetch_add(1);
    const ProcessState now = state_.load();
    if (now == ProcessState::kRunning) return CUDA_SUCCESS;
    if (now != ProcessState::kFailed && !Submits(base)) Die(entry);
    inside.fetch_sub(1);
    if (now == ProcessState::kFailed) return CUDA_ERROR_UNKNOWN;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return state_ == ProcessState::kRunning || state_ == ProcessState::kFailed;
    });
  }
}

void Checkpoint::Leave(int entry) { inside_[static_cast<std::size_t>(entry)].fetch_sub(1); }

bool Checkpoint::AwaitSubmissions(unsigned timeout_ms) {
  for (unsigned waited = 0;; ++waited) {
    bool any = false;
    for (int entry = 0; entry < kEntryCount; ++entry) {
      if (inside_[static_cast<std::size_t>(entry)] == 0 ||
          MayAlwaysBeCalled(kEntries[entry].base)) {
        continue;
      }
      if (!Submits(kEntries[entry].base)) Die(entry);
      any = true;
    }
    if (!any || (timeout_ms != 0 && waited >= timeout_ms)) return !any;
    usleep(1000);
  }
}

CUresult Checkpoint::Lock(unsigned timeout_ms) {
  ProcessState expected = ProcessState::kRunning;
  if (!state_.compare_exchange_strong(expected, ProcessState::kLocked)) {
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  if (AwaitSubmissions(timeout_ms)) return CUDA_SUCCESS;
  Unlock();
  return CUDA_ERROR_NOT_READY;
}

CUresult Checkpoint::MarkCheckpointed() {
  state_ = ProcessState::kCheckpointed;
  return CUDA_SUCCESS;
}

CUresult Checkpoint::MarkRestored(bool restored) {
  const std::lock_guard lock(mutex_);
  state_ = restored ? ProcessState::kLocked : ProcessState::kFailed;
  changed_.notify_all();
  return restored ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult Checkpoint::Unlock() {
  const std::lock_guard lock(mutex_);
  ProcessState expected = ProcessState::kLocked;
  if (!state_.compare_exchange_strong(expected, ProcessState::kRunning)) {
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  changed_.notify_all();
  return CUDA_SUCCESS;
}

namespace calls {

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs* arguments) {
  if (pid != getpid() || State::Get().options.mps) return CUDA_ERROR_NOT_SUPPORTED;
  // The struct is incomplete in cuda.h before CUDA 12.8; its first member is the timeout.
  unsigned timeout_ms = 0;
  if (arguments != nullptr) std::memcpy(&timeout_ms, arguments, sizeof timeout_ms);
  return Checkpoint::Get().Lock(timeout_ms);
}

CUresult cuCheckpointProcessCheckpoint(StateLock& lock, int pid, CUcheckpointCheckpointArgs*) {
  if (pid != getpid()) return CUDA_ERROR_NOT_SUPPORTED;
  Checkpoint& checkpoint = Checkpoint::Get();
  if (checkpoint.state() != ProcessState::kLocked) return CUDA_ERROR_ILLEGAL_STATE;
  State& state = State::Get();
  const auto contexts = state.contexts.all();  // the lock may be released
  for (const auto& [number, context] : contexts) WaitForContext(lock, *context);
  if (HasUnsupportedMemory(state) || !state.card->TakeAway()) return CUDA_ERROR_NOT_SUPPORTED;
  return checkpoint.MarkCheckpointed();
}

CUresult cuCheckpointProcessRestore(State& state, int pid, CUcheckpointRestoreArgs*) {
  if (pid != getpid()) return CUDA_ERROR_NOT_SUPPORTED;
  Checkpoint& checkpoint = Checkpoint::Get();
  if (checkpoint.state() != ProcessState::kCheckpointed) return CUDA_ERROR_ILLEGAL_STATE;
  return checkpoint.MarkRestored(state.card->BringBack());
}

CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs*) {
  return pid == getpid() ? Checkpoint::Get().Unlock() : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCheckpointProcessGetState(int pid, CUprocessState* state) {
  if (pid != getpid()) return CUDA_ERROR_NOT_SUPPORTED;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = static_cast<CUprocessState>(Checkpoint::Get().state());
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
  if (pid != getpid()) return CUDA_ERROR_NOT_SUPPORTED;
  if (thread == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *thread = gettid();
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
