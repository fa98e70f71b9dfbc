// The agent: contexts leave the card, by the driver's own checkpoint of the process, and come back.
//
// Between cuCheckpointProcessLock and Unlock almost any call of another thread corrupts the
// process: see context_guard.h. While they are away the agent makes no call either, except to bring
// them back.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/context_guard.h"
#include "reveza/gpu/interpose/free_memory.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/real_driver.h"
#include "reveza/gpu/swap/client_lock.h"

namespace reveza::interpose {
namespace {

// How long threads may take to leave the driver, and the driver to lock the process.
constexpr std::int64_t kLeaveLimitUs = 100'000;
constexpr unsigned kLockLimitMs = 1000;
// CUresult and attribute of newer headers.
constexpr auto kIllegalState = static_cast<CUresult>(401);
constexpr auto kMpsEnabled = static_cast<CUdevice_attribute>(133);

// As the argument structs of cuda.h since CUDA 12.8: 64 bytes, of which all that is unused is zero.
struct CheckpointArguments {
  unsigned timeout_ms = 0;
  unsigned reserved[15] = {};
};
static_assert(sizeof(CheckpointArguments) == 64);

template <typename Arguments>
CUresult Call(CUresult (*function)(int, Arguments*), unsigned timeout_ms = 0) {
  CheckpointArguments arguments{.timeout_ms = timeout_ms};
  return function(getpid(), reinterpret_cast<Arguments*>(&arguments));
}

}  // namespace

bool Agent::ContextsCanMove() const {
  const DriverCalls& real = Real();
  if (client_.resident_ || real.cuCheckpointProcessLock == nullptr ||
      real.cuCheckpointProcessCheckpoint == nullptr || real.cuCheckpointProcessRestore == nullptr ||
      real.cuCheckpointProcessUnlock == nullptr) {
    return false;
  }
  int devices = 0;
  if (real.cuDeviceGetCount(&devices) != CUDA_SUCCESS) return false;
  for (int device = 0; device < devices; ++device) {
    int mps = 0;
    // Unknown to older drivers.
    if (real.cuDeviceGetAttribute(&mps, kMpsEnabled, device) == CUDA_SUCCESS && mps != 0) {
      return false;
    }
  }
  return true;
}

// Returns whether what the daemon knows of the client is all that it holds.
bool Agent::HoldsOnlyContexts() const {
  for (const Gpu& gpu : gpus_) {
    if (client_.ledger_.GetUsage(gpu.ordinal).resident > 0 ||
        client_.ledger_.Promised(gpu.ordinal) > 0) {
      return false;
    }
  }
  return gate_ == GateState::kClosed && !swapping_in_;
}

wire::ContextRelease Agent::TakeContextsOff() {
  if (client_.swapping_disabled()) return wire::ContextRelease::kRefused;
  if (!HoldsOnlyContexts()) return wire::ContextRelease::kBusy;
  const DriverCalls& real = Real();
  const bool closed = ContextDoor::Close(kLeaveLimitUs);
  // Looked at behind the closed door: a call that keeps them says so before it is made.
  const bool kept = client_.contexts_kept_.load(std::memory_order_acquire);
  if (!closed || kept) {
    ContextDoor::Open();
    return kept ? wire::ContextRelease::kRefused : wire::ContextRelease::kBusy;
  }
  CUresult result = Call(real.cuCheckpointProcessLock, kLockLimitMs);
  if (result == CUDA_SUCCESS) {
    result = Call(real.cuCheckpointProcessCheckpoint);
    if (result == CUDA_SUCCESS) {
      contexts_away_ = true;
      ContextDoor::SetAway();
      return wire::ContextRelease::kReleased;
    }
    Call(real.cuCheckpointProcessUnlock);
  }
  ContextDoor::Open();
  if (result == CUDA_ERROR_NOT_READY) return wire::ContextRelease::kBusy;
  // Never tried again. An illegal state: something else has taken the process off.
  if (result == kIllegalState) client_.KeepContexts();
  return wire::ContextRelease::kRefused;
}

void Agent::BringContextsBack() {
  const DriverCalls& real = Real();
  const CUresult result = Call(real.cuCheckpointProcessRestore);
  if (result == CUDA_SUCCESS) Call(real.cuCheckpointProcessUnlock);
  if (result != CUDA_SUCCESS) {
    PrintNotice("the driver could not bring the GPU contexts of this program back (error %d)",
                static_cast<int>(result));
    client_.KeepContexts();
  }
  contexts_away_ = false;
  ContextDoor::Open();
}

void Agent::Handle(const wire::ReleaseContexts& order) {
  // The turn for which it would come in was abandoned.
  swapping_in_ = false;
  // Returns what is unused: from now on the client has no credit.
  ReportUsage();
  connection_.Send(wire::ContextsReleased{order.serial, TakeContextsOff()});
  // A thread that came before the contexts had left asks only now.
  gate_request_sent_ = false;
}

// The daemon has looked that there is room.
void Agent::Handle(const wire::RestoreContexts& order) {
  if (contexts_away_) BringContextsBack();
  connection_.Send(wire::ContextsRestored{order.serial, 0});
}

// Returns false as well if the free memory is unknown: a restore that meets a full card breaks the
// process.
bool Agent::HasRoomForContexts() const {
  return std::ranges::all_of(gpus_, [this](const Gpu& gpu) {
    const swap::MemoryUsage usage = client_.ledger_.GetUsage(gpu.ordinal);
    const Bytes needed = usage.context + usage.pinned;
    return needed == 0 || FreeMemoryOf(gpu.uuid).value_or(0) >= needed;
  });
}

// All or nothing, one process of a GPU at a time.
bool Agent::BringContextsBackStandalone() {
  std::vector<std::unique_ptr<swap::ClientLock>> locks;
  for (const Gpu& gpu : gpus_) {
    locks.push_back(std::make_unique<swap::ClientLock>(GpuLockName(gpu.uuid).text));
    if (!locks.back()->TryAcquire()) return false;
  }
  if (!HasRoomForContexts()) return false;
  BringContextsBack();
  return true;
}

}  // namespace reveza::interpose
