// State of this process as a client of the daemon, used by the hooks. A singleton created with the
// first context and never destroyed (threads may be inside a call when the process exits). There is
// none in a process without a context, with REVEZA_DISABLE=1, or in a forked child.
//
// Thread-safe. Methods that block say so; they must not be called with a lock held.
#pragma once

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "reveza/gpu/interpose/captures.h"
#include "reveza/gpu/interpose/contexts.h"
#include "reveza/gpu/interpose/counted.h"
#include "reveza/gpu/interpose/host_waits.h"
#include "reveza/gpu/interpose/memory_tickets.h"
#include "reveza/gpu/interpose/stream_pools.h"
#include "reveza/gpu/swap/arena.h"
#include "reveza/gpu/swap/driver.h"
#include "reveza/gpu/swap/ledger.h"
#include "reveza/gpu/swap/mover.h"
#include "reveza/gpu/swap/placement.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::interpose {

struct DriverCalls;

struct ContextRequest {
  int ordinal = 0;
  CUuuid uuid{};
  Bytes total = 0;
  bool sent = false;
  bool answered = false;
  bool refused = false;
  Bytes budget = 0;
  Bytes credit = 0;
};

// kFirst: admitted for the calling thread. kFurther: another thread has created the first context.
// kRefused: the GPU cannot keep what the policy of the job asks for.
enum class Admission { kFirst, kFurther, kRefused };

struct GrowthRequest {
  std::uint32_t number = 0;
  int ordinal = 0;
  wire::GrowthKind kind = wire::GrowthKind::kSwappable;
  Bytes bytes = 0;
  Bytes asked = 0;     // size sent to the daemon, rounded up to the granule
  bool exact = false;  // the rounded size was refused: send the exact size
  bool answered = false;
  wire::Growth answer = wire::Growth::kRefused;
  Bytes credit = 0;
};

// Returns what identifies a GPU to the daemon: the UUID of the MIG instance if it is one. A driver
// before CUDA 11.4 only knows that of the card. All zero on failure. Thread-safe.
CUuuid DeviceUuid(const DriverCalls& real, CUdevice device);

class Client {
 public:
  // Returns the client, or null if there is none.
  static Client* Get() { return instance_.load(std::memory_order_acquire); }
  // Creates the client and its agent if necessary. Returns null if disabled or in a forked child.
  static Client* Start();

  swap::Ledger& ledger() { return ledger_; }
  Captures& captures() { return captures_; }
  HostWaits& host_waits() { return host_waits_; }
  CountedObjects& counted() { return counted_; }
  ResidentAllocations& resident_allocations() { return resident_allocations_; }
  DriverHandles& driver_handles() { return driver_handles_; }
  PoolAccounts& pools() { return pools_; }
  StreamPools& stream_pools() { return stream_pools_; }
  TicketOffice& ticket_office() { return ticket_office_; }
  ImportedMemory& imported_memory() { return imported_memory_; }
  DeferredFrees& deferred_frees() { return deferred_frees_; }
  const swap::Driver& swap_driver() const { return swap_driver_; }
  // `--resident`: allocations are made by the driver, only counted, and never swapped.
  bool resident() const { return resident_; }
  // `--larger-than-card`: memory of the host backs what the card cannot hold.
  bool larger_than_card() const { return larger_than_card_; }
  // Returns whether the environment has this value of the variable.
  static bool IsSet(const char* name, const char* value);
  // Returns the smaller of `total` and REVEZA_GPU_BUDGET.
  static Bytes EmulatedTotal(Bytes total);

  // ---- contexts ----
  // Blocks until the daemon admits the first context on the device, or until another thread has
  // created it: a device has one request at a time. Without a daemon returns at once. Prints the
  // reason for a long wait, or a refusal, on stderr. The thread must report the outcome with
  // OnFirstContext() or OnFurtherContext(), unless it was refused.
  Admission AwaitAdmission(int ordinal);
  // Reports the outcome to the daemon. After a failure, the next thread that creates a context
  // requests admission anew.
  void OnFirstContext(int ordinal, bool created);
  void OnFurtherContext(int ordinal);
  // Reserves memory for one more context on a device that has one; blocks until there is room.
  // Returns its size, 0 if the device has no context yet, nullopt if refused.
  std::optional<Bytes> ReserveFurtherContext(int ordinal);
  // Records a context that was created or retained. Returns whether it is new, and not the only one
  // of its device.
  bool OnContextCreated(int ordinal, CUcontext context, bool primary);
  Contexts& contexts() { return contexts_; }
  // Call before the driver's call that may end `context`: waits until nobody uses it, for its work
  // if `synchronise`, and for a step of a handover to end. If it is the last one of its device,
  // waits until what outlives it is in GPU memory. Returns the device; nullopt if it is unknown.
  std::optional<int> BeginContextEnd(CUcontext context, bool synchronise) ACQUIRE(moving_mutex_);
  // Call after that. If the context has ended, frees its allocations and what the agent had in it.
  void FinishContextEnd(std::optional<int> ordinal, CUcontext context, bool ended)
      RELEASE(moving_mutex_);

  // ---- memory ----
  // Holds the contexts of the devices, for Synchronise(). Not inside the gate: it may block.
  Contexts::Held HoldContexts(const std::vector<int>& ordinals) { return contexts_.Hold(ordinals); }
  // Waits for all work in the contexts, whichever is current. Returns the first error of the
  // current context and of `owner`; nullopt if a capture is in progress, which it would invalidate.
  std::optional<CUresult> Synchronise(const Contexts::Held& held, CUcontext owner);
  // Requests credit from the daemon; blocks. kLater: the gate is closed or closing, and the ledger
  // may allocate virtually instead.
  // Adds what was granted to `promised`: it is not returned before the caller calls
  // Ledger::Fulfil().
  wire::Growth RequestGrowth(int ordinal, wire::GrowthKind kind, Bytes bytes, Bytes* promised);
  // Reserves `bytes` of memory that cannot be swapped; blocks until there is room. May be called
  // inside or outside the gate. Returns false if refused.
  bool ReservePinned(int ordinal, Bytes bytes);
  void ReleasePinned(int ordinal, Bytes bytes);
  void ReleasePinned(const std::vector<Counted>& released);
  // Corrects a reservation to what the driver has taken.
  void CorrectPinned(int ordinal, Bytes reserved, Bytes taken);
  // Frees memory that stream-ordered pools of the device keep; waits for the GPU if it still uses
  // all of it. Returns false if there is nothing to free.
  bool ReleaseKeptMemory(int ordinal);
  // Unmaps memory of another process and ends its counting.
  void Unmap(const ImportedMemory::Mapping& mapping);
  // Schedules a report of the memory accounting to the daemon.
  void UsageChanged();
  // Grants (or revokes) the current device's access to the memory of `peer_context`'s device.
  void SetPeerAccess(CUcontext peer_context, bool enabled);
  // Grants a device access to the memory of a pool, for ever: to all memory of the pool's device.
  void SetPoolAccess(CUmemoryPool pool, int accessor);
  // Disables swapping for this client permanently. `cause` is the name of the call in the warning.
  void DisableSwapping(const char* cause);
  // Keeps the contexts on the card permanently: a call that touches them is not guarded.
  void KeepContexts() { contexts_kept_.store(true, std::memory_order_release); }
  bool swapping_disabled() const { return swapping_disabled_.load(std::memory_order_relaxed); }

  // ---- the slice, for programs that know of it ----
  // Offers the rest of the slice to others.
  void Yield();
  // Asks for the slice not to end until it is called with false, for a limited time. Calls nest.
  void Hold(bool on);

  // ---- the gate ----
  // Tells the daemon that a thread is blocked at the closed gate.
  void AtClosedGate();
  // Copies the daemon's reason for the wait; empty if unknown.
  void CopyWaitReason(char* out, std::size_t capacity) const;

 private:
  friend class Agent;
  Client();
  static void MakeInstance();
  static void AfterForkInChild();

  // Waits for the agent's answer and prints the reason for a long wait.
  void WaitFor(const bool& answered, const char* what) REQUIRES(requests_mutex_);
  // Waits until no other thread creates the first context of the device. Returns whether the device
  // has had a context.
  bool AwaitFirstContext(int ordinal) REQUIRES(requests_mutex_);
  void Wake();
  // Lets memory of the host back what exceeds the device, if the driver can.
  void BackByHost(int ordinal);
  // Ends what the ledger and the agent have in a context, which the driver has destroyed.
  void EndContext(int ordinal, CUcontext context) REQUIRES(moving_mutex_);
  // Ends the device's admission if it has no context any more and none is being created.
  void ForgetDeviceWithoutContext(int ordinal) REQUIRES(requests_mutex_);
  // Pins host memory in a background thread.
  void PrepareArena(Bytes bytes);
  static void* PrepareMain(void* client);

  static constexpr std::chrono::seconds kNoticeInterval{1};
  static constexpr const char* kRoomForContext = "room for a context";
  static constexpr const char* kNoRoom = "no room yet";

  static std::atomic<Client*> instance_;

  swap::Driver swap_driver_{};
  swap::HostArena arena_;
  swap::Ledger ledger_;
  Captures captures_;
  HostWaits host_waits_{swap_driver_};
  CountedObjects counted_;
  ResidentAllocations resident_allocations_;
  DriverHandles driver_handles_;
  PoolAccounts pools_;
  StreamPools stream_pools_{ledger_};
  TicketOffice ticket_office_{ledger_};
  ImportedMemory imported_memory_;
  DeferredFrees deferred_frees_;
  std::uint64_t job_ = 0;
  bool resident_ = false;
  bool larger_than_card_ = false;
  std::atomic<bool> swapping_disabled_{false};
  std::atomic<bool> contexts_kept_{false};
  std::atomic<bool> usage_changed_{false};
  std::atomic<bool> at_gate_{false};
  std::atomic<bool> yields_{false};
  std::atomic<int> holds_{0};
  int wake_fd_ = -1;

  Mutex requests_mutex_;
  CondVar answered_;
  std::vector<ContextRequest*> context_requests_ GUARDED_BY(requests_mutex_);
  std::vector<GrowthRequest*> growth_requests_ GUARDED_BY(requests_mutex_);
  std::vector<GrowthRequest*> growth_sent_ GUARDED_BY(requests_mutex_);
  std::uint32_t next_request_ GUARDED_BY(requests_mutex_) = 1;
  struct FirstContext {
    int ordinal = 0;
    bool created = false;  // else a thread requests or creates it
    int further = 0;       // number of threads that create another one
  };
  std::vector<FirstContext> first_contexts_ GUARDED_BY(requests_mutex_);
  // Outcomes not reported yet: ordinal, success.
  std::vector<std::pair<int, bool>> created_ GUARDED_BY(requests_mutex_);

  Contexts contexts_;

  // Held by the agent while it uses contexts or swaps memory, to keep contexts from being
  // destroyed.
  Mutex moving_mutex_;
  swap::Mover mover_ GUARDED_BY(moving_mutex_);
  swap::Placement placement_ GUARDED_BY(moving_mutex_);

  std::atomic<Bytes> arena_wanted_{0};
  std::atomic<bool> preparing_arena_{false};

  mutable Mutex wait_reason_mutex_;
  char wait_reason_[200] GUARDED_BY(wait_reason_mutex_) = "";
};

}  // namespace reveza::interpose
