#include "reveza/gpu/interpose/stream_pools.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/captures.h"

namespace reveza::interpose {
namespace {

// Freed memory is given to an allocation that leaves at most an eighth of it unused.
constexpr Bytes kMaxUnusedPart = 8;
// A pool may grow by this much before it gives back memory of other sizes.
constexpr Bytes kSlack = 32 * kMiB;
// Events that are queried for one allocation, at most.
constexpr int kMaxQueries = 8;

// Returns a number of the calling thread that no other thread has had.
std::uint64_t ThreadNumber() {
  static constinit std::atomic<std::uint64_t> next{1};
  static constinit thread_local std::uint64_t mine = 0;
  if (mine == 0) mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

// Returns whether a property is set that not all headers know; what is unused must be zero.
bool HasNewerProperties(const CUmemPoolProps& properties) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&properties);
  const std::size_t known = offsetof(CUmemPoolProps, maxSize) + sizeof(properties.maxSize);
  return std::any_of(bytes + known, bytes + sizeof(properties),
                     [](unsigned char byte) { return byte != 0; });
}

}  // namespace

StreamIdentity StreamIdentity::Of(CUstream stream, StreamKind kind, CUcontext context) {
  if (stream == nullptr) {
    stream = kind == StreamKind::kPerThread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  }
  return {context, stream, stream == CU_STREAM_PER_THREAD ? ThreadNumber() : 0};
}

// ---- pools ----

StreamPools::Pool* StreamPools::FindPool(CUmemoryPool handle) {
  for (const auto& pool : pools_) {
    if (pool->handle == handle && !pool->destroyed) return pool.get();
  }
  return nullptr;
}

// A record of a pool that is gone is used again: blocks of the ledger may still name it.
StreamPools::Pool& StreamPools::AddPool(CUmemoryPool handle, int ordinal) {
  const auto unused = std::ranges::find_if(pools_, [](const auto& pool) {
    return pool->destroyed && pool->allocated == 0 && pool->kept.empty();
  });
  Pool& pool = unused != pools_.end() ? **unused : *pools_.emplace_back(std::make_unique<Pool>());
  pool = Pool{};
  pool.handle = handle;
  pool.ordinal = ordinal;
  return pool;
}

void StreamPools::ReadAttributes(Pool& pool) {
  cuuint64_t threshold = 0;
  int opportunistic = 1;
  int dependencies = 1;
  const auto get = Real().cuMemPoolGetAttribute;
  get(pool.handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  get(pool.handle, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &opportunistic);
  get(pool.handle, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &dependencies);
  pool.threshold = threshold;
  pool.opportunistic = opportunistic != 0;
  pool.internal_dependencies = dependencies != 0;
}

void StreamPools::OnCreated(CUmemoryPool handle, const CUmemPoolProps& properties) {
  const CUmemPoolProps& p = properties;
  if (p.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || p.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      p.location.type != CU_MEM_LOCATION_TYPE_DEVICE || p.win32SecurityAttributes != nullptr ||
      p.maxSize != 0 || HasNewerProperties(p)) {
    return;
  }
  MutexLock lock(mutex_);
  AddPool(handle, p.location.id);
}

void StreamPools::OnDestroyed(CUmemoryPool handle) {
  const RelaxedCapture relaxed;
  MutexLock lock(mutex_);
  Pool* pool = FindPool(handle);
  if (pool == nullptr) return;
  pool->destroyed = true;
  pool->threshold = 0;
  Trim(*pool, 0);
  may_trim_.store(true, std::memory_order_release);
}

const void* StreamPools::Find(CUmemoryPool handle, int ordinal) {
  MutexLock lock(mutex_);
  if (const Pool* pool = FindPool(handle)) return pool;
  CUmemoryPool standard = nullptr;
  const RelaxedCapture relaxed;
  if (handle == nullptr || Real().cuDeviceGetDefaultMemPool == nullptr ||
      Real().cuDeviceGetDefaultMemPool(&standard, ordinal) != CUDA_SUCCESS || standard != handle) {
    return nullptr;
  }
  Pool& pool = AddPool(handle, ordinal);
  ReadAttributes(pool);
  return &pool;
}

int StreamPools::OrdinalOf(const void* record) { return static_cast<const Pool*>(record)->ordinal; }

CUmemoryPool StreamPools::HandleOf(const void* record) {
  return record == nullptr ? nullptr : static_cast<const Pool*>(record)->handle;
}

// ---- events ----

CUevent StreamPools::TakeEvent(CUcontext context) {
  const auto found = std::ranges::find(events_, context, &FreeEvent::context);
  if (found != events_.end()) {
    const CUevent event = found->event;
    *found = events_.back();
    events_.pop_back();
    return event;
  }
  CUevent event = nullptr;
  return Real().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS ? event : nullptr;
}

void StreamPools::GiveBackEvent(Kept& kept) {
  if (kept.freed != nullptr) events_.push_back({kept.freed_in.context, kept.freed});
  kept.freed = nullptr;
}

// Events of a context that may be ending are not touched.
bool StreamPools::IsIdle(Kept& kept) {
  if (kept.freed == nullptr) return true;
  if (kept.freed_in.context == ending_) return false;
  if (Real().cuEventQuery(kept.freed) == CUDA_ERROR_NOT_READY) return false;
  GiveBackEvent(kept);
  return true;
}

// ---- allocations ----

CUdeviceptr StreamPools::Reuse(const void* record, Bytes size, const StreamIdentity& stream,
                               Take take) {
  const RelaxedCapture relaxed;
  MutexLock lock(mutex_);
  Pool& pool = *static_cast<Pool*>(const_cast<void*>(record));
  if (take == Take::kAfterWait && !pool.internal_dependencies) return 0;
  const Bytes fresh =
      RoundUp(size, size <= swap::kSmallLimit ? swap::kSmallUnit : swap::kGranularity);
  const Bytes largest = std::max(fresh, size + size / kMaxUnusedPart);
  auto chosen = pool.kept.end();
  int queries = 0;
  for (auto kept = std::ranges::lower_bound(pool.kept, size, {}, &Kept::size);
       kept != pool.kept.end() && kept->size <= largest; ++kept) {
    if (kept->freed_in.context == ending_ && kept->freed != nullptr) continue;
    // What the same stream has freed comes first: it delays nobody.
    if (kept->freed_in.Is(stream)) {
      chosen = kept;
      break;
    }
    if (chosen != pool.kept.end()) continue;
    if (take == Take::kAfterWait) {
      chosen = kept;
    } else if (pool.opportunistic && queries < kMaxQueries) {
      queries += kept->freed != nullptr ? 1 : 0;
      if (IsIdle(*kept)) chosen = kept;
    }
  }
  if (chosen == pool.kept.end()) return 0;
  if (!chosen->freed_in.Is(stream) && chosen->freed != nullptr &&
      Real().cuStreamWaitEvent(stream.stream, chosen->freed, CU_EVENT_WAIT_DEFAULT) !=
          CUDA_SUCCESS) {
    return 0;
  }
  GiveBackEvent(*chosen);
  const CUdeviceptr address = chosen->address;
  const Bytes reserved = chosen->size;
  pool.kept.erase(chosen);
  pool.allocated += reserved;
  pool.used += size;
  pool.used_high = std::max(pool.used_high, pool.used);
  ledger_.Reuse(address, size, record);
  return address;
}

void StreamPools::MakeRoom(const void* record, Bytes size) {
  MutexLock lock(mutex_);
  Pool& pool = *static_cast<Pool*>(const_cast<void*>(record));
  if (pool.kept.empty()) return;
  const Bytes most = pool.most_reserved + pool.most_reserved / kMaxUnusedPart + kSlack;
  if (pool.reserved + size <= most) return;
  const RelaxedCapture relaxed;
  Trim(pool, most - std::min(most, size));
}

void StreamPools::OnAllocated(const void* record, Bytes size, Bytes reserved) {
  MutexLock lock(mutex_);
  Pool& pool = *static_cast<Pool*>(const_cast<void*>(record));
  pool.allocated += reserved;
  pool.reserved += reserved;
  pool.used += size;
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
  pool.most_reserved = std::max(pool.most_reserved, pool.allocated);
}

CUresult StreamPools::FreeAsync(CUdeviceptr address, const swap::AddressInfo& info,
                                const StreamIdentity& stream) {
  const RelaxedCapture relaxed;
  MutexLock lock(mutex_);
  Kept kept{address, info.reserved, stream, TakeEvent(stream.context), next_order_++};
  if (kept.freed == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult recorded = Real().cuEventRecord(kept.freed, stream.stream);
  if (recorded != CUDA_SUCCESS || !ledger_.Retire(address)) {
    GiveBackEvent(kept);
    return recorded != CUDA_SUCCESS ? recorded : CUDA_ERROR_INVALID_VALUE;
  }
  Pool& pool = *static_cast<Pool*>(const_cast<void*>(info.pool));
  const auto at = std::ranges::upper_bound(pool.kept, kept.size, {}, &Kept::size);
  pool.kept.insert(at, kept);
  pool.allocated -= kept.size;
  pool.used -= info.size;
  if (pool.reserved > pool.threshold) may_trim_.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}

void StreamPools::OnFreed(const swap::AddressInfo& info) {
  if (info.pool == nullptr) return;
  MutexLock lock(mutex_);
  Pool& pool = *static_cast<Pool*>(const_cast<void*>(info.pool));
  pool.allocated -= info.reserved;
  pool.reserved -= info.reserved;
  pool.used -= info.size;
}

// ---- giving memory back ----

bool StreamPools::Trim(Pool& pool, Bytes keep) {
  if (pool.reserved <= keep || pool.kept.empty()) return false;
  std::vector<Kept*> by_age;
  for (Kept& kept : pool.kept) by_age.push_back(&kept);
  std::ranges::sort(by_age, {}, &Kept::order);
  std::vector<StreamIdentity> busy;  // what such a stream freed later is in use as well
  bool freed = false;
  for (Kept* kept : by_age) {
    if (pool.reserved <= keep) break;
    const auto is_its_stream = [&](const StreamIdentity& one) { return one.Is(kept->freed_in); };
    if (kept->freed != nullptr && std::ranges::any_of(busy, is_its_stream)) continue;
    if (!IsIdle(*kept)) {
      busy.push_back(kept->freed_in);
      continue;
    }
    pool.reserved -= kept->size;
    ledger_.Free(kept->address);
    kept->address = 0;
    freed = true;
  }
  std::erase_if(pool.kept, [](const Kept& kept) { return kept.address == 0; });
  return freed;
}

bool StreamPools::OnSynchronised() {
  if (!may_trim_.load(std::memory_order_acquire)) return false;
  const RelaxedCapture relaxed;
  MutexLock lock(mutex_);
  bool freed = false;
  bool more = false;
  for (const auto& pool : pools_) {
    freed = Trim(*pool, pool->threshold) || freed;
    more = more || (pool->reserved > pool->threshold && !pool->kept.empty());
  }
  may_trim_.store(more, std::memory_order_release);
  return freed;
}

void StreamPools::TrimTo(CUmemoryPool handle, Bytes keep) {
  const RelaxedCapture relaxed;
  MutexLock lock(mutex_);
  if (Pool* pool = FindPool(handle)) Trim(*pool, keep);
}

bool StreamPools::ReleaseIdle(int ordinal) {
  const RelaxedCapture relaxed;
  MutexLock lock(mutex_);
  bool freed = false;
  for (const auto& pool : pools_) {
    if (pool->ordinal == ordinal) freed = Trim(*pool, 0) || freed;
  }
  return freed;
}

bool StreamPools::KeepsAny(int ordinal) {
  MutexLock lock(mutex_);
  return std::ranges::any_of(
      pools_, [&](const auto& pool) { return pool->ordinal == ordinal && !pool->kept.empty(); });
}

// ---- attributes ----

void StreamPools::OnAttributeSet(CUmemoryPool handle, CUmemPool_attribute attribute,
                                 const void* value) {
  MutexLock lock(mutex_);
  Pool* pool = FindPool(handle);
  if (pool == nullptr) return;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->threshold = *static_cast<const cuuint64_t*>(value);
      if (!pool->kept.empty()) may_trim_.store(true, std::memory_order_release);
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      pool->opportunistic = *static_cast<const int*>(value) != 0;
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->internal_dependencies = *static_cast<const int*>(value) != 0;
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      pool->used_high = pool->used;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      pool->reserved_high = pool->reserved;
      break;
    default:
      break;
  }
}

Bytes StreamPools::Attribute(CUmemoryPool handle, CUmemPool_attribute attribute) {
  MutexLock lock(mutex_);
  const Pool* pool = FindPool(handle);
  if (pool == nullptr) return 0;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return pool->used_high;
    default:
      return 0;
  }
}

std::optional<int> StreamPools::AddPeer(CUmemoryPool handle, int accessor) {
  MutexLock lock(mutex_);
  Pool* pool = FindPool(handle);
  if (pool == nullptr || pool->ordinal == accessor) return std::nullopt;
  pool->peers.push_back(accessor);
  return pool->ordinal;
}

bool StreamPools::HasPeer(int ordinal, int accessor) {
  MutexLock lock(mutex_);
  return std::ranges::any_of(pools_, [&](const auto& pool) {
    return pool->ordinal == ordinal &&
           std::ranges::find(pool->peers, accessor) != pool->peers.end();
  });
}

// ---- ends ----

void StreamPools::OnStreamDestroy(CUstream stream) {
  MutexLock lock(mutex_);
  for (const auto& pool : pools_) {
    for (Kept& kept : pool->kept) {
      if (kept.freed_in.stream == stream) kept.freed_in.stream = nullptr;
    }
  }
}

void StreamPools::BeginContextEnd(CUcontext context) {
  MutexLock lock(mutex_);
  ending_ = context;
}

void StreamPools::FinishContextEnd(CUcontext context, bool ended) {
  MutexLock lock(mutex_);
  ending_ = nullptr;
  if (!ended) return;
  // Its events are gone, and its work is over.
  std::erase_if(events_, [&](const FreeEvent& one) { return one.context == context; });
  for (const auto& pool : pools_) {
    for (Kept& kept : pool->kept) {
      if (kept.freed_in.context != context) continue;
      kept.freed = nullptr;
      kept.freed_in = {};
    }
  }
}

void StreamPools::OnDeviceEnd(int ordinal) {
  {
    MutexLock lock(mutex_);
    for (const auto& pool : pools_) {
      if (pool->ordinal != ordinal) continue;
      for (Kept& kept : pool->kept) GiveBackEvent(kept);
      pool->kept.clear();
      pool->used = pool->reserved = pool->allocated = 0;
    }
  }
  ledger_.FreePooled(ordinal);
}

}  // namespace reveza::interpose
