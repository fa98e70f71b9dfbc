// The ledger of one process: every byte of GPU memory that the application asked for, where it is,
// and what must be put back where. It answers the application's memory calls, also while the
// memory is swapped out, and knows which physical memory may exist (credit, see
// scheduler/scheduler.h).
//
// Thread-safety: every method takes the ledger's lock, except where it says otherwise. Methods do
// not wait for the daemon: they answer kNeedCredit or kWait and the caller asks again.
// Part of libreveza.so: libc and header-only C++ only.
#pragma once

#include <cuda.h>

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "swap/address_map.h"
#include "swap/arena.h"
#include "swap/block.h"
#include "swap/device_memory.h"
#include "swap/driver.h"
#include "swap/sync.h"

namespace reveza::swap {

enum class Residency {
  kUnmanaged,  // no daemon: physical memory is made whenever it is asked for
  kIn,         // the gate is open (or closing): physical memory needs credit
  kOut,        // the gate is closed: memory is given virtually
  kSettled,    // all is in, the gate is about to open: who wants memory waits a moment
};

enum class Outcome {
  kDone,
  kForeign,     // not ours: ask the driver
  kNeedCredit,  // `needed` bytes of credit, then again
  kWait,        // the state is about to change: WaitForChange, then again
  kRetry,       // there is credit, but the driver has no memory yet: somebody's is released late
  kFailed,      // `error`
};

struct Reply {
  Outcome outcome = Outcome::kDone;
  CUresult error = CUDA_SUCCESS;
  Bytes needed = 0;
};
inline Reply Failed(CUresult error) { return {Outcome::kFailed, error, 0}; }

// What is known of an address.
struct Place {
  CUdeviceptr base = 0;  // of the application's allocation or mapping
  Bytes size = 0;        // as the application asked for it
  int device = 0;
  CUcontext owner = nullptr;
  Block::Kind kind = Block::Kind::kAllocation;
  unsigned long long buffer_id = 0;
  CUmemAllocationProp properties{};
  // Of a mapped handle: the reservation that it lies in. Size 0: made before we could note it.
  CUdeviceptr range_base = 0;
  Bytes range_size = 0;
};

class Ledger {
 public:
  Ledger(const Driver& driver, HostArena& arena);

  // ---- devices ----
  void AddDevice(int ordinal, CUcontext context, Bytes budget, Bytes context_bytes);
  bool HasDevice(int ordinal) const;
  // Any context of the device will do for moving memory; null: the last one ended.
  void SetContext(int ordinal, CUcontext context);
  // `context` is about to end; `other` lives on (or null). Our stream and registrations in it end.
  void ContextEnds(int ordinal, CUcontext context, CUcontext other);
  void SetContextBytes(int ordinal, Bytes bytes);
  // Counts memory that only the driver manages. Returns the new total.
  Bytes AddCounted(int ordinal, std::int64_t delta);
  Books GetBooks(int ordinal) const;
  Bytes Budget(int ordinal) const;

  // ---- credit and residency ----
  void AddCredit(int ordinal, Bytes bytes);
  // Takes credit that nothing uses, all but `keep`, to give it back.
  Bytes TakeSpare(int ordinal, Bytes keep);
  // Uses `bytes` of spare credit for memory that is counted, not ours. false: not enough.
  bool SpendOnCounted(int ordinal, Bytes bytes);
  // Lets that much be given while the residency is kOut; forgotten when memory comes back in.
  void Permit(int ordinal, Bytes bytes);
  void SetResidency(Residency residency);
  Residency residency() const;
  // Until the residency changes, a copy ends or `microseconds` pass.
  void WaitForChange(std::int64_t microseconds);

  // ---- cuMemAlloc and its kin ----
  Reply Allocate(int ordinal, CUcontext owner, Bytes size, CUdeviceptr* address);
  // The GPU must not use the memory any more (the caller has synchronised).
  Reply Free(CUdeviceptr address);
  // Frees what `owner` allocated with cuMemAlloc.
  void FreeOwned(CUcontext owner);
  bool Find(CUdeviceptr address, Place* place) const;
  // Whether anything of ours is mapped in the range.
  bool IsMapped(CUdeviceptr address, Bytes size) const;
  // `peer` gets (or loses) access to all allocations of `ordinal`, now and later.
  CUresult SetPeer(int ordinal, int peer, bool enabled);

  // ---- the application's own VMM ----
  static bool IsOurHandle(CUmemGenericAllocationHandle handle);
  Reply CreateHandle(Bytes size, const CUmemAllocationProp& properties,
                     CUmemGenericAllocationHandle* handle);
  Reply ReleaseHandle(CUmemGenericAllocationHandle handle);
  Reply RetainHandle(CUdeviceptr address, CUmemGenericAllocationHandle* handle);
  Reply HandleProperties(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties);
  Reply MapHandle(CUdeviceptr address, Bytes size, Bytes offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
  Reply Unmap(CUdeviceptr address, Bytes size);
  Reply SetAccess(CUdeviceptr address, Bytes size, const CUmemAccessDesc* descriptions,
                  std::size_t count);
  Reply GetAccess(CUdeviceptr address, const CUmemLocation& location, unsigned long long* flags);
  // Makes the memory one real handle that is resident from then on. All of it must be resident
  // and idle; kNeedCredit when a second copy needs room for a moment.
  Reply Pin(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle* real);
  Reply PinAddress(CUdeviceptr address, CUmemGenericAllocationHandle* real);
  // The application reserved addresses.
  void NoteReserved(CUdeviceptr address, Bytes size);
  // It gives back those that begin at `address`. Returns how many were noted.
  Bytes ForgetReserved(CUdeviceptr address);

 private:
  friend class Mover;

  DeviceMemory* Device(int ordinal);
  const DeviceMemory* Device(int ordinal) const;
  DeviceMemory* DeviceOf(const Block& block);
  Block* FindHandle(CUmemGenericAllocationHandle handle) const;

  // All below: the lock is held.
  Reply MayGrow(const DeviceMemory& device, Bytes size) const;
  void TakeCredit(DeviceMemory& device, Block& block);
  void ReturnCredit(DeviceMemory& device, Block& block);
  CUresult MaterialiseAll(Block& block);
  Reply OfMaking(CUresult result) const;
  CUresult CheckProperties(const CUmemAllocationProp& properties);
  Reply AllocateBlock(DeviceMemory& device, Block::Kind kind, CUcontext owner, Bytes requested,
                      Block** block);
  Reply AllocateSmall(DeviceMemory& device, CUcontext owner, Bytes size, CUdeviceptr* address);
  Reply FreeSmall(DeviceMemory& device, Block& block, CUdeviceptr address);
  Reply FreeBlock(DeviceMemory& device, Block& block);
  void ForgetIfUnused(DeviceMemory& device, Block& block);
  CUresult DropPieces(DeviceMemory& device, Block& block);
  CUresult BringBack(DeviceMemory& device, Block& block);
  Reply UnmapOne(const AddressMap::Entry& entry);
  Reply PinBlock(Block& block, CUmemGenericAllocationHandle* real);
  CUresult Replace(Block& block, CUmemGenericAllocationHandle whole);
  CUresult Migrate(DeviceMemory& device, Block& block, CUmemGenericAllocationHandle real);
  CUresult EnsureStream(DeviceMemory& device);
  void WaitIdle(Block& block);

  const Driver& driver_;
  HostArena& arena_;
  mutable Mutex mutex_;
  Condition changed_;
  Residency residency_ = Residency::kUnmanaged;
  std::vector<std::unique_ptr<DeviceMemory>> devices_;
  AddressMap addresses_;
  AddressMap reserved_;          // by the application; without blocks
  std::vector<Block*> handles_;  // by id
  unsigned long long next_handle_ = 1;
  std::vector<CUmemAllocationProp> checked_;  // that the driver accepts
  int free_waiters_ = 0;                      // threads in WaitIdle
};

}  // namespace reveza::swap
