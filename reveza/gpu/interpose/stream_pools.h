// Stream-ordered memory pools (cuMemAllocAsync) that the ledger serves, so that their memory can be
// swapped. The program holds the driver's own pools, which stay empty; what it allocates from them
// is memory of the ledger.
//
// A pool keeps what the program has freed, with an event that was recorded in the freeing stream.
// The same stream may have the memory again at once, another one when the event has completed, or
// if it is made to wait for the event. That the memory of a pool may be swapped out depends on no
// event: a drain waits for all work.
//
// Pools that the program can share with other processes, or whose properties the ledger does not
// know, stay the driver's (PoolAccounts).
// Thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/swap/ledger.h"

namespace reveza::interpose {

// A stream, as it is told apart from others.
struct StreamIdentity {
  CUcontext context = nullptr;
  CUstream stream = nullptr;  // null: unknown or destroyed, equal to none
  std::uint64_t thread = 0;   // of a per-thread stream

  // Returns the identity of a stream argument. `context` is that of the stream.
  static StreamIdentity Of(CUstream stream, StreamKind kind, CUcontext context);
  bool Is(const StreamIdentity& other) const {
    return stream != nullptr && context == other.context && stream == other.stream &&
           thread == other.thread;
  }
};

class StreamPools {
 public:
  // Which freed memory may be given to a stream.
  enum class Take {
    kReady,      // usable at once
    kAfterWait,  // the stream is made to wait for the work that may still use it
  };

  explicit StreamPools(swap::Ledger& ledger) : ledger_(ledger) {}

  // Registers a pool that the program has made, if the ledger can serve it.
  void OnCreated(CUmemoryPool pool, const CUmemPoolProps& properties);
  // Its memory goes when the program has freed it.
  void OnDestroyed(CUmemoryPool pool);
  // Returns the pool's record, which is valid for ever; null if the driver serves it. Registers
  // `pool` if it is the default one of device `ordinal`.
  const void* Find(CUmemoryPool pool, int ordinal);
  // Return what a record says.
  static int OrdinalOf(const void* record);
  static CUmemoryPool HandleOf(const void* record);

  // ---- allocations ----
  // Gives freed memory of the pool to a stream. Returns 0 if there is none that fits.
  CUdeviceptr Reuse(const void* record, Bytes size, const StreamIdentity& stream, Take take);
  // Frees what the pool keeps, if it would grow beyond what it has needed before by allocating
  // `size` bytes.
  void MakeRoom(const void* record, Bytes size);
  // Counts memory that was allocated from the ledger for the pool.
  void OnAllocated(const void* record, Bytes size, Bytes reserved);
  // Frees an allocation of the ledger in the order of `stream`, whose context is current.
  CUresult FreeAsync(CUdeviceptr address, const swap::AddressInfo& info,
                     const StreamIdentity& stream);
  // Counts an allocation that is gone from the ledger.
  void OnFreed(const swap::AddressInfo& info);

  // ---- giving memory back ----
  // Frees what pools keep beyond their release threshold; call after a synchronisation. Returns
  // whether that was anything. Cheap if there is nothing.
  bool OnSynchronised();
  // Frees what the pool keeps, until at most `keep` bytes are reserved.
  void TrimTo(CUmemoryPool pool, Bytes keep);
  // Frees all that the pools of a device keep and no work uses. Returns whether that was anything.
  bool ReleaseIdle(int ordinal);
  // Returns whether pools of the device keep anything.
  bool KeepsAny(int ordinal);

  // ---- attributes ----
  void OnAttributeSet(CUmemoryPool pool, CUmemPool_attribute attribute, const void* value);
  // Returns what the pool adds to the driver's value of an attribute: nothing, unless it is a size.
  Bytes Attribute(CUmemoryPool pool, CUmemPool_attribute attribute);

  // Records that a device may access the pool. Returns the pool's device; nullopt if it is not
  // ours.
  std::optional<int> AddPeer(CUmemoryPool pool, int accessor);
  // Returns whether a device may access a pool of device `ordinal`.
  bool HasPeer(int ordinal, int accessor);

  // ---- ends ----
  void OnStreamDestroy(CUstream stream);
  // Call before and after the driver's call that may end a context.
  void BeginContextEnd(CUcontext context);
  void FinishContextEnd(CUcontext context, bool ended);
  // Forgets all memory of a device whose last context has ended, and frees it.
  void OnDeviceEnd(int ordinal);

 private:
  struct Kept {
    CUdeviceptr address = 0;
    Bytes size = 0;
    StreamIdentity freed_in;
    CUevent freed = nullptr;  // null: no work uses the memory
    std::uint64_t order = 0;
  };
  struct Pool {
    CUmemoryPool handle = nullptr;
    int ordinal = 0;
    bool destroyed = false;
    std::vector<int> peers;
    Bytes threshold = 0;
    bool opportunistic = true;
    bool internal_dependencies = true;
    std::vector<Kept> kept;  // by size, then by age
    Bytes used = 0;
    Bytes used_high = 0;
    Bytes reserved = 0;
    Bytes reserved_high = 0;
    Bytes most_reserved = 0;  // for MakeRoom()
    Bytes allocated = 0;      // `reserved` without what is kept
  };
  struct FreeEvent {
    CUcontext context = nullptr;
    CUevent event = nullptr;
  };

  Pool* FindPool(CUmemoryPool handle) REQUIRES(mutex_);
  Pool& AddPool(CUmemoryPool handle, int ordinal) REQUIRES(mutex_);
  void ReadAttributes(Pool& pool) REQUIRES(mutex_);
  bool IsIdle(Kept& kept) REQUIRES(mutex_);
  void GiveBackEvent(Kept& kept) REQUIRES(mutex_);
  CUevent TakeEvent(CUcontext context) REQUIRES(mutex_);
  // Frees idle memory, the oldest first, while more than `keep` bytes are reserved.
  bool Trim(Pool& pool, Bytes keep) REQUIRES(mutex_);

  swap::Ledger& ledger_;
  Mutex mutex_;  // before that of the ledger
  std::vector<std::unique_ptr<Pool>> pools_ GUARDED_BY(mutex_);
  std::vector<FreeEvent> events_ GUARDED_BY(mutex_);
  CUcontext ending_ GUARDED_BY(mutex_) = nullptr;
  std::uint64_t next_order_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> may_trim_{false};
};

}  // namespace reveza::interpose
