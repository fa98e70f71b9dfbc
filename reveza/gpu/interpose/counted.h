// Accounting of memory that the driver manages (hooks_counted.cc, hooks_memory.cc). It cannot be
// swapped, but counts towards the client's footprint on the device that owns it, whichever is
// current when it is made or freed. All classes are thread-safe.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "reveza/gpu/swap/ledger.h"

namespace reveza::interpose {

// Bytes counted on a device.
struct Counted {
  int ordinal = 0;
  Bytes bytes = 0;
};

// Sizes of objects that the driver frees as a whole (arrays, managed memory that cannot be
// prefetched, further contexts).
class CountedObjects {
 public:
  // `owner`: the object ends with this context.
  void Add(const void* object, CUcontext owner, Counted counted);
  // Return what was counted; nothing if the object is unknown.
  std::optional<Counted> Remove(const void* object);
  std::vector<Counted> RemoveOwned(CUcontext owner);

 private:
  struct Entry {
    const void* object = nullptr;
    CUcontext owner = nullptr;
    Counted counted;
  };
  Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);  // by object, then by age
};

// Allocations of cuMemAlloc that the driver makes itself (`--resident`). What they take from the
// device are whole granules; small allocations share them.
class ResidentAllocations {
 public:
  // Allocations below this size share granules.
  static constexpr Bytes kSmall = kMiB;

  // Records an allocation. Returns the size of the granules that only it uses.
  Bytes Add(int ordinal, CUcontext owner, CUdeviceptr address, Bytes size);
  // Removes the allocation that begins at `address`, or those of a context. Return the granules
  // that nothing uses any more; nothing for an address that is unknown.
  struct Removed {
    CUcontext owner = nullptr;
    Bytes size = 0;  // of the allocation
    Counted freed;
  };
  std::optional<Removed> Remove(CUdeviceptr address);
  std::vector<Counted> RemoveOwned(CUcontext owner);
  // Returns whether shared granules have room for `size` bytes, perhaps not in one piece.
  bool HasRoom(int ordinal, Bytes size) const;

 private:
  struct Entry {
    CUdeviceptr address = 0;
    Bytes size = 0;
    int ordinal = 0;
    CUcontext owner = nullptr;
    CUdeviceptr first() const { return address / swap::kGranularity; }
    CUdeviceptr last() const { return (address + size - 1) / swap::kGranularity; }
  };
  struct Shared {
    int ordinal = 0;
    Bytes granules = 0;
    Bytes allocated = 0;
  };
  using Entries = std::vector<Entry>;
  Bytes OwnGranules(Entries::iterator entry) REQUIRES(mutex_);
  Counted Erase(Entries::iterator entry) REQUIRES(mutex_);
  Shared& SharedOf(int ordinal) REQUIRES(mutex_);

  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);  // by address
  std::vector<Shared> shared_ GUARDED_BY(mutex_);
};

// Handles of cuMemCreate that the driver made. Their memory lives until the last reference and the
// last mapping are gone.
class DriverHandles {
 public:
  void Add(CUmemGenericAllocationHandle handle, Counted counted);
  void Retain(CUmemGenericAllocationHandle handle);
  void Map(CUmemGenericAllocationHandle handle, CUdeviceptr address);
  // Return what is free now.
  std::vector<Counted> Release(CUmemGenericAllocationHandle handle);
  std::vector<Counted> Unmap(CUdeviceptr address, Bytes size);

 private:
  struct Entry {
    CUmemGenericAllocationHandle handle = 0;
    Counted counted;
    int references = 1;
    std::vector<CUdeviceptr> mappings;
  };
  Entry* Find(CUmemGenericAllocationHandle handle) REQUIRES(mutex_);
  std::vector<Counted> TakeUnused() REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
};

// Memory pools and the graph memory of each device, counted at what the driver reports. Both grow
// and shrink inside other calls; the counts are brought up to date by Settle() and SettleAll().
// Growth has then happened already, so it is counted even without credit.
class PoolAccounts {
 public:
  // Registers a pool, unless it is known.
  void Add(CUmemoryPool pool, int ordinal);
  // Returns the device of a registered pool.
  std::optional<int> DeviceOf(CUmemoryPool pool) const;
  // From now on the graph memory of the device is counted.
  void AddGraphMemory(int ordinal) { Add(nullptr, ordinal); }
  void Settle(swap::Ledger& ledger, CUmemoryPool pool);
  // Returns whether anything has changed.
  bool SettleAll(swap::Ledger& ledger);
  // Destroys the pool with `destroy`, which must not be asked about any more afterwards.
  CUresult Destroy(swap::Ledger& ledger, CUmemoryPool pool, CUresult (*destroy)(CUmemoryPool));

 private:
  struct Entry {
    CUmemoryPool pool = nullptr;  // null: graph memory
    int ordinal = 0;
    Bytes counted = 0;
  };
  static Bytes Reserved(const Entry& entry);
  static bool Settle(swap::Ledger& ledger, Entry& entry, Bytes reserved);

  mutable Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
};

// Memory freed during a stream capture. Synchronising would invalidate the capture, and the memory
// must not be reused before the GPU is done with it; it is freed by the next allocation or free
// without a capture.
class DeferredFrees {
 public:
  // Returns false if the address is there already.
  bool Add(CUdeviceptr address) {
    MutexLock lock(mutex_);
    if (std::ranges::find(addresses_, address) != addresses_.end()) return false;
    addresses_.push_back(address);
    return true;
  }
  std::vector<CUdeviceptr> TakeAll() {
    MutexLock lock(mutex_);
    return std::exchange(addresses_, {});
  }

 private:
  Mutex mutex_;
  std::vector<CUdeviceptr> addresses_ GUARDED_BY(mutex_);
};

class Client;
// Frees memory that only the driver can manage with `real`, and ends its accounting.
CUresult FreeCounted(Client& client, CUdeviceptr address, decltype(&::cuMemFree_v2) real);

// Returns a size of a pool in bytes; 0 if the driver cannot tell.
Bytes PoolBytes(CUmemoryPool pool, CUmemPool_attribute attribute);

}  // namespace reveza::interpose
