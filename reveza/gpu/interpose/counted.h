// Accounting of memory that the driver manages (hooks_counted.cc). It cannot be swapped, but counts
// towards the client's footprint. All classes are thread-safe.
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

// Sizes of counted objects (arrays, managed memory), to release the same amount on destruction.
class CountedObjects {
 public:
  struct Entry {
    const void* object = nullptr;
    int ordinal = 0;
    Bytes bytes = 0;
  };

  void Add(const void* object, int ordinal, Bytes bytes) {
    MutexLock lock(mutex_);
    entries_.push_back({object, ordinal, bytes});
  }

  // Returns the entry, nullopt if the object is not counted.
  std::optional<Entry> Remove(const void* object) {
    MutexLock lock(mutex_);
    const auto found = std::ranges::find(entries_, object, &Entry::object);
    if (found == entries_.end()) return std::nullopt;
    const Entry removed = *found;
    entries_.erase(found);
    return removed;
  }

 private:
  Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
};

// Counted size of each memory pool, updated after every call that may change it.
class PoolAccounts {
 public:
  // Records that the pool now holds `reserved` bytes of the driver. Growth has already happened, so
  // it is counted even without credit.
  void Settle(swap::Ledger& ledger, int ordinal, CUmemoryPool pool, Bytes reserved) {
    MutexLock lock(mutex_);
    Entry& entry = Find(pool);
    if (reserved > entry.counted) {
      const Bytes more = reserved - entry.counted;
      if (!ledger.SpendOnCounted(ordinal, more)) {
        ledger.AddCounted(ordinal, static_cast<std::int64_t>(more));
      }
    } else if (reserved < entry.counted) {
      ledger.AddCounted(ordinal, -static_cast<std::int64_t>(entry.counted - reserved));
    }
    entry.counted = reserved;
  }

 private:
  struct Entry {
    CUmemoryPool pool;
    Bytes counted;
  };
  Entry& Find(CUmemoryPool pool) REQUIRES(mutex_) {
    for (Entry& entry : entries_) {
      if (entry.pool == pool) return entry;
    }
    entries_.push_back({pool, 0});
    return entries_.back();
  }

  Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
};

// Memory freed during a stream capture. Synchronising would invalidate the capture, and the memory
// must not be reused before the GPU is done with it; it is freed by the next allocation or free
// without a capture.
class DeferredFrees {
 public:
  void Add(CUdeviceptr address) {
    MutexLock lock(mutex_);
    addresses_.push_back(address);
  }
  std::vector<CUdeviceptr> TakeAll() {
    MutexLock lock(mutex_);
    return std::exchange(addresses_, {});
  }

 private:
  Mutex mutex_;
  std::vector<CUdeviceptr> addresses_ GUARDED_BY(mutex_);
};

// Releases the accounting of managed memory, which is freed with cuMemFree.
void ReleaseManaged(CUdeviceptr address);

}  // namespace reveza::interpose
