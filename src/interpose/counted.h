// The books of memory that the driver manages and we only count (hooks_counted.cc): it stays where
// it is, and nobody else may plan with its room.
// Thread-safety: every class has its own lock.
#pragma once

#include <cuda.h>

#include <vector>

#include "base/bytes.h"
#include "swap/ledger.h"
#include "swap/sync.h"

namespace reveza::interpose {

// What each counted object (array, managed memory) took, so that its end gives back the same.
class CountedObjects {
 public:
  struct Entry {
    const void* object = nullptr;
    int ordinal = 0;
    Bytes bytes = 0;
  };

  void Add(const void* object, int ordinal, Bytes bytes) {
    swap::MutexLock lock(mutex_);
    entries_.push_back({object, ordinal, bytes});
  }

  // false: not counted.
  bool Remove(const void* object, Entry* removed) {
    swap::MutexLock lock(mutex_);
    for (Entry& entry : entries_) {
      if (entry.object != object) continue;
      *removed = entry;
      entry = entries_.back();
      entries_.pop_back();
      return true;
    }
    return false;
  }

 private:
  swap::Mutex mutex_;
  std::vector<Entry> entries_;
};

// How much of each pool is in the books; settled after every call that may change it.
class PoolBooks {
 public:
  // The pool now has `reserved` bytes from the driver. What it took beyond the books is in the
  // card already, so the books follow, with credit or without.
  void Settle(swap::Ledger& ledger, int ordinal, CUmemoryPool pool, Bytes reserved) {
    swap::MutexLock lock(mutex_);
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
  Entry& Find(CUmemoryPool pool) {
    for (Entry& entry : entries_) {
      if (entry.pool == pool) return entry;
    }
    entries_.push_back({pool, 0});
    return entries_.back();
  }

  swap::Mutex mutex_;
  std::vector<Entry> entries_;
};

// Memory freed while a stream captures: synchronising would end the capture, and the hole must not
// be used before the GPU is done with it. It is freed at the next chance.
class SetAside {
 public:
  void Add(CUdeviceptr address) {
    swap::MutexLock lock(mutex_);
    addresses_.push_back(address);
  }
  std::vector<CUdeviceptr> TakeAll() {
    swap::MutexLock lock(mutex_);
    std::vector<CUdeviceptr> all;
    all.swap(addresses_);
    return all;
  }

 private:
  swap::Mutex mutex_;
  std::vector<CUdeviceptr> addresses_;
};

// Managed memory is freed with cuMemFree.
void ForgetManaged(CUdeviceptr address);

}  // namespace reveza::interpose
