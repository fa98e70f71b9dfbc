// Self-checkpoint of the process (cuCheckpointProcess...), with the rules of driver 580: between
// Lock and Unlock submissions and allocations wait, a few calls work, and any other is fatal, as on
// a card, where it corrupts the process. A call that is in progress when the process is locked is
// fatal too.
//
// Thread-safe.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "fakecuda/card.h"

namespace fakecuda {

// As CUprocessState, which cuda.h has since CUDA 12.8.
enum class ProcessState : unsigned { kRunning, kLocked, kCheckpointed, kFailed };

class Checkpoint {
 public:
  static Checkpoint& Get();

  // Call at the beginning of every entry of an initialised driver. Blocks a submission while the
  // process is locked, and aborts the process for what may not be called then. Returns an error if
  // a restore has failed. After CUDA_SUCCESS, Leave() must follow.
  CUresult Enter(int entry);
  void Leave(int entry);

  CUresult Lock(unsigned timeout_ms);
  CUresult MarkCheckpointed();
  CUresult MarkRestored(bool restored);
  CUresult Unlock();
  ProcessState state() const { return state_.load(); }

 private:
  bool AwaitSubmissions(unsigned timeout_ms);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<ProcessState> state_{ProcessState::kRunning};
  std::array<std::atomic<int>, kMaxCounters> inside_ = {};  // calls in progress
};

}  // namespace fakecuda
