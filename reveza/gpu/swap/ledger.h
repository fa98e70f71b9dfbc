// Records all GPU memory of one process: what the application allocated, at which addresses, and
// whether it is in GPU memory or swapped out. It answers the application's memory calls, also while
// the memory is swapped out, and enforces that physical memory never exceeds the credit (see
// scheduler/scheduler.h).
//
// Thread-safe: public methods take the ledger's lock. They never wait for the daemon, but return
// kNeedCredit or kWait and are called again by the caller.
// Part of libreveza.so: libc and header-only C++ only.
#pragma once

#include <cuda.h>

#include <memory>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "reveza/gpu/swap/arena.h"
#include "reveza/gpu/swap/block.h"
#include "reveza/gpu/swap/driver.h"

namespace reveza::swap {

enum class Residency {
  kUnmanaged,  // no daemon: physical memory is created on request, without credit
  kIn,         // the gate is open or closing: physical memory needs credit
  kOut,        // the gate is closed: allocations are virtual
  kSettled,    // fully swapped in, the gate is about to open: new allocations wait
};

enum class Outcome {
  kDone,
  kForeign,     // not managed by the ledger: call the driver
  kNeedCredit,  // `needed` more bytes of credit are required: obtain them and retry
  kWait,        // the residency is about to change: call WaitForChange() and retry
  kRetry,       // credit suffices, but another process has not released its memory yet: retry
  kFailed,      // final; see `error`
};

struct Reply {
  Outcome outcome = Outcome::kDone;
  CUresult error = CUDA_SUCCESS;
  Bytes needed = 0;
};
inline Reply Failed(CUresult error) { return {Outcome::kFailed, error, 0}; }
inline Reply Foreign() { return {Outcome::kForeign, CUDA_SUCCESS, 0}; }

// The allocation or mapping that contains an address.
struct AddressInfo {
  CUdeviceptr base = 0;
  Bytes size = 0;  // as requested by the application
  int device = 0;
  Bytes reserved = 0;  // of a block of its own or of its slab
  CUcontext owner = nullptr;
  const void* pool = nullptr;  // null: not of a stream-ordered pool
  Block::Kind kind = Block::Kind::kAllocation;
  unsigned long long buffer_id = 0;
  CUmemAllocationProp properties{};
  // Mapped handles: the enclosing address reservation. Size 0: reserved before it was recorded.
  CUdeviceptr range_base = 0;
  Bytes range_size = 0;
};

class Ledger {
 public:
  Ledger(const Driver& driver, HostArena& arena);

  // ---- devices ----
  // Adds the device, or updates it if it is known.
  void AddDevice(int ordinal, CUcontext context, Bytes budget, Bytes context_bytes);
  bool HasDevice(int ordinal) const;
  // Sets the context used for copies, unless there is one; any context of the device will do.
  void SetContext(int ordinal, CUcontext context);
  // Called before `context` is destroyed. Drops the stream and host registrations made in it and
  // continues with `other` (null: none left).
  void OnContextDestroy(int ordinal, CUcontext context, CUcontext other);
  void SetContextBytes(int ordinal, Bytes bytes);
  // Ends the counting of the device's context, whose credit becomes spare.
  void ReleaseContextBytes(int ordinal);
  // Returns whether contents of a handle are on the host: a context must copy them back.
  bool HasHostCopies(int ordinal) const;
  // Adds `delta` bytes of memory managed by the driver alone.
  void AddCounted(int ordinal, std::int64_t delta);
  MemoryUsage GetUsage(int ordinal) const;
  Bytes Budget(int ordinal) const;

  // ---- credit and residency ----
  void AddCredit(int ordinal, Bytes bytes);
  // Removes all spare credit beyond `keep` and returns its amount, to be returned to the daemon.
  Bytes TakeSpare(int ordinal, Bytes keep);
  // Notes that `bytes` of the credit belong to a request of the application until Fulfil().
  void Promise(int ordinal, Bytes bytes);
  void Fulfil(int ordinal, Bytes bytes);
  Bytes Promised(int ordinal) const;
  // Spends `bytes` of spare credit on memory managed by the driver. Returns false if there is not
  // enough.
  bool SpendOnCounted(int ordinal, Bytes bytes);
  // Counts memory that the driver has taken already, with as much spare credit as there is.
  void CountGrown(int ordinal, Bytes bytes);
  // Backs what exceeds the budget of the device, from now on, by memory of a NUMA node of the host.
  void BackByHost(int ordinal, int node);
  // Places the next allocation in memory of the host, because there is no other. Returns false if
  // the device is not backed by it.
  bool PlaceNextOnHost(int ordinal);
  // Permits `bytes` of virtual allocations while the residency is kOut; reset on kIn.
  void Permit(int ordinal, Bytes bytes);
  void SetResidency(Residency residency);
  Residency residency() const;
  // Blocks until the residency changes, a copy ends or `microseconds` pass.
  void WaitForChange(std::int64_t microseconds);

  // ---- cuMemAlloc family ----
  Reply Allocate(int ordinal, CUcontext owner, Bytes size, CUdeviceptr* address,
                 const void* pool = nullptr);
  // The caller must have synchronised: the GPU no longer uses the memory.
  Reply Free(CUdeviceptr address);
  // Frees all cuMemAlloc allocations of the context `owner`.
  void FreeOwned(CUcontext owner);
  // Frees all memory of stream-ordered pools of the device.
  void FreePooled(int ordinal);
  // The program frees memory of a pool, which keeps it: Find() does not find it any more, and its
  // contents are lost when it is swapped out. Returns false if no such allocation begins there.
  bool Retire(CUdeviceptr address);
  // Gives retired memory to the program again, which asked for `size` bytes.
  void Reuse(CUdeviceptr address, Bytes size, const void* pool);
  // Looks up the allocation that contains `address`. Returns false if there is none, or if it is
  // retired.
  bool Find(CUdeviceptr address, AddressInfo* info) const;
  // Returns the devices whose work may use the memory at an address, or behind a handle: its own
  // and those with access to a mapping of it. Empty if it is not ours or not mapped.
  std::vector<int> DevicesWithAccess(CUdeviceptr address) const;
  std::vector<int> DevicesWithAccessToHandle(CUmemGenericAllocationHandle handle) const;
  // Returns whether any ledger memory is mapped in the range.
  bool IsMapped(CUdeviceptr address, Bytes size) const;
  // Grants `peer` access to all present and future allocations of `ordinal`, or revokes it.
  CUresult SetPeer(int ordinal, int peer, bool enabled);
  // Returns the devices with allocations to which `peer` has no access.
  std::vector<int> DevicesWithoutPeer(int peer) const;

  // ---- managed memory (cuMemAllocManaged), which the driver allocates and frees ----
  // Takes credit for `size` bytes, which are counted (AddCounted) until AddManaged().
  Reply ReserveManaged(int ordinal, Bytes size);
  void AddManaged(const ManagedRange& range);
  // Removes the record before the driver frees the memory, since another thread may get the address
  // at once. What is resident is counted again. Returns nullopt if no managed memory begins there.
  std::optional<ManagedRange> RemoveManaged(CUdeviceptr address);
  // Keeps the managed memory that overlaps a range on the GPU from now on. Call inside the gate.
  void FixManaged(CUdeviceptr address, Bytes size);
  // Returns the size of all managed memory of the device.
  Bytes ManagedBytes(int ordinal) const;

  // ---- virtual memory management by the application (cuMemCreate, cuMemMap, ...) ----
  static bool IsOurHandle(CUmemGenericAllocationHandle handle);
  Reply CreateHandle(Bytes size, const CUmemAllocationProp& properties,
                     CUmemGenericAllocationHandle* handle);
  Reply ReleaseHandle(CUmemGenericAllocationHandle handle);
  Reply RetainHandle(CUdeviceptr address, CUmemGenericAllocationHandle* handle);
  Reply HandleProperties(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties);
  // Mapping a part of the memory pins it; see Pin().
  Reply MapHandle(CUdeviceptr address, Bytes size, Bytes offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags, bool idle = true);
  Reply Unmap(CUdeviceptr address, Bytes size);
  Reply SetAccess(CUdeviceptr address, Bytes size, const CUmemAccessDesc* descriptions,
                  std::size_t count);
  Reply GetAccess(CUdeviceptr address, const CUmemLocation& location, unsigned long long* flags);
  // Consolidates the memory into one driver handle, returned in `real`, that is never moved again.
  // kWait while swapped out; kNeedCredit if a temporary copy needs room; CUDA_ERROR_NOT_READY if
  // contents that the GPU may be using must move, unless it is `idle`.
  Reply Pin(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle* real,
            bool idle = true);
  Reply PinAddress(CUdeviceptr address, CUmemGenericAllocationHandle* real, bool idle = true);
  // Pins the memory of a cuMemAlloc allocation, in a handle that can be exported to other
  // processes, and describes it in `shared`. Returns as Pin() does.
  struct Shared {
    unsigned long long number = 0;  // of the handle
    Bytes handle_size = 0;
    Bytes offset = 0;  // of the allocation in it
    Bytes size = 0;    // of the allocation
  };
  Reply Share(CUdeviceptr address, Shared* shared, bool idle = true);
  // Exports the handle of shared memory with `export_handle`, if the allocation is still there.
  CUresult ExportShared(const Shared& shared,
                        CUresult (*export_handle)(CUmemGenericAllocationHandle, int*), int* file,
                        Bytes* handle_size);
  // Records an address reservation of the application.
  void AddReservation(CUdeviceptr address, Bytes size);
  // Removes the reservation at `address`. Returns its size; 0 if there is none.
  Bytes RemoveReservation(CUdeviceptr address);

 private:
  friend class Mover;
  friend class Placement;

  DeviceMemory* Device(int ordinal) REQUIRES(mutex_);
  const DeviceMemory* Device(int ordinal) const REQUIRES(mutex_);
  DeviceMemory* DeviceOf(const Block& block) REQUIRES(mutex_);
  Block* FindHandle(CUmemGenericAllocationHandle handle) const REQUIRES(mutex_);

  // Decides which pieces of a new block are on the GPU, and which in memory of the host, and
  // returns whether the former may be allocated now.
  Reply Place(DeviceMemory& device, Block& block) REQUIRES(mutex_);
  // Creates the physical memory of those that are in memory of the host.
  CUresult MakeOnHost(Block& block) REQUIRES(mutex_);
  void TakeCredit(DeviceMemory& device, Block& block) REQUIRES(mutex_);
  void ReturnCredit(DeviceMemory& device, Block& block) REQUIRES(mutex_);
  CUresult MaterialiseAll(Block& block) REQUIRES(mutex_);
  static Reply CreationReply(CUresult result);
  CUresult CheckProperties(const CUmemAllocationProp& properties) REQUIRES(mutex_);
  Reply AllocateBlock(DeviceMemory& device, Block::Kind kind, CUcontext owner, Bytes requested,
                      Block** block) REQUIRES(mutex_);
  Reply AllocateSmall(DeviceMemory& device, const SmallAllocation& wanted, CUdeviceptr* address)
      REQUIRES(mutex_);
  // Frees the allocations for which `condition` is true, given the context that owns them and their
  // pool.
  template <typename Condition>
  void FreeIf(DeviceMemory& device, Condition condition) REQUIRES(mutex_);
  Reply FreeSmall(DeviceMemory& device, Block& block, CUdeviceptr address) REQUIRES(mutex_);
  Reply FreeBlock(DeviceMemory& device, Block& block) REQUIRES(mutex_);
  void RemoveIfUnused(DeviceMemory& device, Block& block) REQUIRES(mutex_);
  CUresult ReleasePieces(DeviceMemory& device, Block& block) REQUIRES(mutex_);
  CUresult RestorePieces(DeviceMemory& device, Block& block) REQUIRES(mutex_);
  Reply UnmapOne(AddressMap::Entry entry) REQUIRES(mutex_);
  // `anew`: in a handle with the block's properties, even if it is in one handle already.
  Reply PinBlock(Block& block, CUmemGenericAllocationHandle* real, bool idle, bool anew = false)
      REQUIRES(mutex_);
  bool FindLocked(CUdeviceptr address, AddressInfo* info) const REQUIRES(mutex_);
  CUresult ReplacePieces(Block& block, CUmemGenericAllocationHandle whole) REQUIRES(mutex_);
  CUresult Migrate(DeviceMemory& device, Block& block, CUmemGenericAllocationHandle whole)
      REQUIRES(mutex_);
  CUresult EnsureStream(DeviceMemory& device) REQUIRES(mutex_);
  void WaitForCopies(Block& block) REQUIRES(mutex_);

  const Driver& driver_;
  HostArena& arena_;
  mutable Mutex mutex_;
  CondVar changed_;
  Residency residency_ GUARDED_BY(mutex_) = Residency::kUnmanaged;
  std::vector<std::unique_ptr<DeviceMemory>> devices_ GUARDED_BY(mutex_);
  AddressMap addresses_ GUARDED_BY(mutex_);
  AddressMap reservations_ GUARDED_BY(mutex_);      // of the application; without blocks
  std::vector<Block*> handles_ GUARDED_BY(mutex_);  // by id
  unsigned long long next_handle_ GUARDED_BY(mutex_) = 1;
  unsigned long long next_shared_ GUARDED_BY(mutex_) = 1;
  std::vector<CUmemAllocationProp> accepted_properties_ GUARDED_BY(mutex_);  // by the driver
  int free_waiters_ GUARDED_BY(mutex_) = 0;  // threads in WaitForCopies
};

}  // namespace reveza::swap
