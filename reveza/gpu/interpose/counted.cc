#include "reveza/gpu/interpose/counted.h"

#include <algorithm>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/captures.h"

namespace reveza::interpose {

// ---- CountedObjects ----

void CountedObjects::Add(const void* object, CUcontext owner, Counted counted) {
  MutexLock lock(mutex_);
  const auto after = std::ranges::upper_bound(entries_, object, {}, &Entry::object);
  entries_.insert(after, {object, owner, counted});
}

// The oldest one: its address may have been given out again since the driver freed it.
std::optional<Counted> CountedObjects::Remove(const void* object) {
  MutexLock lock(mutex_);
  const auto found = std::ranges::lower_bound(entries_, object, {}, &Entry::object);
  if (found == entries_.end() || found->object != object) return std::nullopt;
  const Counted counted = found->counted;
  entries_.erase(found);
  return counted;
}

std::vector<Counted> CountedObjects::RemoveOwned(CUcontext owner) {
  MutexLock lock(mutex_);
  std::vector<Counted> removed;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.owner != owner) return false;
    removed.push_back(entry.counted);
    return true;
  });
  return removed;
}

// ---- ResidentAllocations ----

// Ranges never overlap, so a granule can only be shared with the neighbours.
Bytes ResidentAllocations::OwnGranules(Entries::iterator entry) {
  CUdeviceptr begin = entry->first();
  CUdeviceptr end = entry->last() + 1;
  const auto next = std::next(entry);
  if (entry != entries_.begin() && std::prev(entry)->last() == begin) ++begin;
  if (next != entries_.end() && next->first() + 1 == end) --end;
  return end > begin ? (end - begin) * swap::kGranularity : 0;
}

ResidentAllocations::Shared& ResidentAllocations::SharedOf(int ordinal) {
  for (Shared& shared : shared_) {
    if (shared.ordinal == ordinal) return shared;
  }
  return shared_.emplace_back(Shared{.ordinal = ordinal});
}

Bytes ResidentAllocations::Add(int ordinal, CUcontext owner, CUdeviceptr address, Bytes size) {
  MutexLock lock(mutex_);
  const auto at = std::ranges::upper_bound(entries_, address, {}, &Entry::address);
  const Bytes own = OwnGranules(entries_.insert(at, {address, size, ordinal, owner}));
  if (size < kSmall) {
    Shared& shared = SharedOf(ordinal);
    shared.granules += own;
    shared.allocated += size;
  }
  return own;
}

Counted ResidentAllocations::Erase(Entries::iterator entry) {
  const Counted freed = {entry->ordinal, OwnGranules(entry)};
  if (entry->size < kSmall) {
    Shared& shared = SharedOf(entry->ordinal);
    shared.granules -= std::min(shared.granules, freed.bytes);
    shared.allocated -= entry->size;
  }
  entries_.erase(entry);
  return freed;
}

std::optional<ResidentAllocations::Removed> ResidentAllocations::Remove(CUdeviceptr address) {
  MutexLock lock(mutex_);
  const auto found = std::ranges::lower_bound(entries_, address, {}, &Entry::address);
  if (found == entries_.end() || found->address != address) return std::nullopt;
  Removed removed = {.owner = found->owner, .size = found->size, .freed = {}};
  removed.freed = Erase(found);
  return removed;
}

std::vector<Counted> ResidentAllocations::RemoveOwned(CUcontext owner) {
  MutexLock lock(mutex_);
  std::vector<Counted> removed;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].owner == owner) {
      removed.push_back(Erase(entries_.begin() + static_cast<std::ptrdiff_t>(i)));
    }
  }
  return removed;
}

bool ResidentAllocations::HasRoom(int ordinal, Bytes size) const {
  MutexLock lock(mutex_);
  if (size >= kSmall) return false;
  return std::ranges::any_of(shared_, [&](const Shared& shared) {
    return shared.ordinal == ordinal && shared.granules >= shared.allocated + size;
  });
}

// ---- DriverHandles ----

DriverHandles::Entry* DriverHandles::Find(CUmemGenericAllocationHandle handle) {
  const auto found = std::ranges::find(entries_, handle, &Entry::handle);
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<Counted> DriverHandles::TakeUnused() {
  std::vector<Counted> unused;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.references > 0 || !entry.mappings.empty()) return false;
    unused.push_back(entry.counted);
    return true;
  });
  return unused;
}

void DriverHandles::Add(CUmemGenericAllocationHandle handle, Counted counted) {
  MutexLock lock(mutex_);
  entries_.push_back({.handle = handle, .counted = counted, .mappings = {}});
}

void DriverHandles::Retain(CUmemGenericAllocationHandle handle) {
  MutexLock lock(mutex_);
  if (Entry* entry = Find(handle)) ++entry->references;
}

void DriverHandles::Map(CUmemGenericAllocationHandle handle, CUdeviceptr address) {
  MutexLock lock(mutex_);
  if (Entry* entry = Find(handle)) entry->mappings.push_back(address);
}

std::vector<Counted> DriverHandles::Release(CUmemGenericAllocationHandle handle) {
  MutexLock lock(mutex_);
  if (Entry* entry = Find(handle)) --entry->references;
  return TakeUnused();
}

std::vector<Counted> DriverHandles::Unmap(CUdeviceptr address, Bytes size) {
  MutexLock lock(mutex_);
  for (Entry& entry : entries_) {
    std::erase_if(entry.mappings, [&](CUdeviceptr at) { return at - address < size; });
  }
  return TakeUnused();
}

// ---- PoolAccounts ----

// Asking about a pool invalidates a capture in the global mode (driver 580).
Bytes PoolBytes(CUmemoryPool pool, CUmemPool_attribute attribute) {
  const RelaxedCapture relaxed;
  cuuint64_t value = 0;
  if (pool == nullptr || Real().cuMemPoolGetAttribute == nullptr ||
      Real().cuMemPoolGetAttribute(pool, attribute, &value) != CUDA_SUCCESS) {
    return 0;
  }
  return value;
}

Bytes PoolAccounts::Reserved(const Entry& entry) {
  if (entry.pool != nullptr) return PoolBytes(entry.pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
  const RelaxedCapture relaxed;
  cuuint64_t value = 0;
  if (Real().cuDeviceGetGraphMemAttribute == nullptr ||
      Real().cuDeviceGetGraphMemAttribute(entry.ordinal, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                          &value) != CUDA_SUCCESS) {
    return 0;
  }
  return value;
}

bool PoolAccounts::Settle(swap::Ledger& ledger, Entry& entry, Bytes reserved) {
  const Bytes before = entry.counted;
  entry.counted = reserved;
  if (reserved > before) ledger.CountGrown(entry.ordinal, reserved - before);
  if (reserved < before) {
    ledger.AddCounted(entry.ordinal, -static_cast<std::int64_t>(before - reserved));
  }
  return reserved != before;
}

void PoolAccounts::Add(CUmemoryPool pool, int ordinal) {
  MutexLock lock(mutex_);
  const bool known = std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.pool == pool && (pool != nullptr || entry.ordinal == ordinal);
  });
  if (!known) entries_.push_back({.pool = pool, .ordinal = ordinal});
}

std::optional<int> PoolAccounts::DeviceOf(CUmemoryPool pool) const {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(entries_, pool, &Entry::pool);
  if (pool == nullptr || found == entries_.end()) return std::nullopt;
  return found->ordinal;
}

void PoolAccounts::Settle(swap::Ledger& ledger, CUmemoryPool pool) {
  MutexLock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.pool == pool) Settle(ledger, entry, Reserved(entry));
  }
}

bool PoolAccounts::SettleAll(swap::Ledger& ledger) {
  MutexLock lock(mutex_);
  bool changed = false;
  for (Entry& entry : entries_) changed = Settle(ledger, entry, Reserved(entry)) || changed;
  return changed;
}

CUresult PoolAccounts::Destroy(swap::Ledger& ledger, CUmemoryPool pool,
                               CUresult (*destroy)(CUmemoryPool)) {
  MutexLock lock(mutex_);
  const CUresult result = destroy(pool);
  if (result != CUDA_SUCCESS || pool == nullptr) return result;
  std::erase_if(entries_, [&](Entry& entry) {
    if (entry.pool != pool) return false;
    Settle(ledger, entry, 0);
    return true;
  });
  return result;
}

}  // namespace reveza::interpose
