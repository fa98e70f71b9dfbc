// Stream-ordered allocation: pools cache freed memory up to their threshold until a
// synchronisation.
#include <algorithm>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {

namespace {

CUmemoryPool DefaultPool(State& state, int device) {
  CUmemoryPool& handle = state.default_pools[static_cast<std::size_t>(device)];
  if (handle == nullptr) {
    auto pool = std::make_shared<Pool>();
    pool->device = device;
    handle = state.pools.Add(std::move(pool));
  }
  return handle;
}

// Returns the pool of stream-ordered allocations that name none.
CUmemoryPool CurrentPool(State& state, int device) {
  const CUmemoryPool current = state.current_pools[static_cast<std::size_t>(device)];
  return current == nullptr ? DefaultPool(state, device) : current;
}

// Releases all but `keep` bytes of the free memory of the pool.
void TrimPool(StateLock& lock, Pool& pool, std::uint64_t keep) {
  while (pool.cached_bytes > keep && !pool.cached.empty()) {
    const auto [bytes, start] = *pool.cached.begin();
    pool.cached.erase(pool.cached.begin());
    pool.cached_bytes -= bytes;
    pool.reserved -= bytes;
    ReleaseRange(lock, start);
  }
}

CUresult TakeMemory(StateLock& lock, Context& context, Pool& pool, std::uint64_t bytes,
                    CUdeviceptr* start) {
  const auto found = pool.cached.find(bytes);
  if (found != pool.cached.end()) {
    *start = found->second;
    pool.cached.erase(found);
    pool.cached_bytes -= bytes;
    return CUDA_SUCCESS;
  }
  const auto make = [&] {
    return MakeMemory(lock, context, pool.device, bytes, MemoryKind::kPool, start);
  };
  CUresult result = make();
  if (result == CUDA_ERROR_OUT_OF_MEMORY && !pool.cached.empty()) {
    TrimPool(lock, pool, 0);
    result = make();
  }
  if (result == CUDA_SUCCESS) pool.reserved += bytes;
  return result;
}

CUresult AllocateFrom(CUmemoryPool handle, CUdeviceptr* pointer, std::size_t bytes,
                      CUstream stream_handle, Current& current) {
  State& state = State::Get();
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pointer = 0;
  if (bytes == 0) return CUDA_SUCCESS;
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, stream_handle, &stream));
  RETURN_IF_ERROR(CheckNotCapturing(*stream));  // graph memory nodes are not supported
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  const std::uint64_t rounded = RoundUp(bytes);
  RETURN_IF_ERROR(TakeMemory(current.lock, *current.context, *pool, rounded, pointer));
  pool->used += bytes;
  pool->used_high = std::max(pool->used_high, pool->used);
  pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  Allocation& made = AddAllocation(current, *pointer, bytes, MemoryKind::kPool);
  made.context = nullptr;
  made.device = pool->device;
  made.pool = handle;
  return CUDA_SUCCESS;
}

}  // namespace

void TrimPools(StateLock& lock) {
  const auto pools = State::Get().pools.all();
  for (const auto& [number, pool] : pools) TrimPool(lock, *pool, pool->release_threshold);
}

namespace calls {

CUresult cuMemAllocAsync(Current& current, State& state, CUdeviceptr* pointer, size_t bytes,
                         CUstream stream) {
  std::shared_ptr<Stream> used;
  RETURN_IF_ERROR(FindStream(current, stream, &used));
  const CUmemoryPool pool = CurrentPool(state, used->context->device);
  return AllocateFrom(pool, pointer, bytes, stream, current);
}

CUresult cuMemAllocFromPoolAsync(Current& current, CUdeviceptr* pointer, size_t bytes,
                                 CUmemoryPool pool, CUstream stream) {
  return AllocateFrom(pool, pointer, bytes, stream, current);
}

CUresult cuMemFreeAsync(Current& current, State& state, CUdeviceptr pointer,
                        CUstream stream_handle) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, stream_handle, &stream));
  if (pointer == 0) return CUDA_SUCCESS;
  const auto at = state.allocations.find(pointer);
  const bool native = at != state.allocations.end() && at->second.kind == MemoryKind::kNative;
  if (at == state.allocations.end() || (!native && at->second.kind != MemoryKind::kPool)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->capture != nullptr) return CUDA_ERROR_INVALID_VALUE;  // not of the graph
  if (native) {
    current.lock.unlock();
    return calls::cuMemFree_v2(pointer);
  }
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  const std::shared_ptr<Pool> pool = state.pools.Find(at->second.pool);
  const std::uint64_t bytes = RoundUp(at->second.bytes);
  pool->used -= at->second.bytes;
  state.allocations.erase(at);
  const auto run = [pool, bytes, pointer](Execution&) {
    pool->cached.emplace(bytes, pointer);
    pool->cached_bytes += bytes;
    return CUDA_SUCCESS;
  };
  return Submit(current.lock, *stream,
                {.engine = Engine::kInstant, .run = run, .runs_after_failure = true});
}

CUresult cuDeviceGetDefaultMemPool(State& state, CUmemoryPool* pool, CUdevice device) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *pool = DefaultPool(state, device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(State& state, CUmemoryPool* pool, CUdevice device) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = CurrentPool(state, device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(State& state, CUdevice device, CUmemoryPool handle) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  state.current_pools[static_cast<std::size_t>(device)] = handle;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(State& state, CUmemoryPool* handle, const CUmemPoolProps* properties) {
  if (handle == nullptr || properties == nullptr ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      !state.card->HasDevice(properties->location.id)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  auto pool = std::make_shared<Pool>();
  pool->device = properties->location.id;
  *handle = state.pools.Add(std::move(pool));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(State& state, StateLock& lock, CUmemoryPool handle) {
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || handle == state.default_pools[static_cast<std::size_t>(pool->device)]) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUmemoryPool& current = state.current_pools[static_cast<std::size_t>(pool->device)];
  if (current == handle) current = nullptr;
  state.pools.Remove(handle);
  TrimPool(lock, *pool, 0);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(State& state, StateLock& lock, CUmemoryPool handle, size_t keep) {
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t allocated = pool->reserved - pool->cached_bytes;
  TrimPool(lock, *pool, keep > allocated ? keep - allocated : 0);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(State& state, CUmemoryPool handle, CUmemPool_attribute attribute,
                               void* value) {
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->release_threshold = *static_cast<cuuint64_t*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      pool->used_high = pool->used;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      pool->reserved_high = pool->reserved;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->switches[attribute] = *static_cast<int*>(value);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuMemPoolGetAttribute(State& state, CUmemoryPool handle, CUmemPool_attribute attribute,
                               void* value) {
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto answer = [&](cuuint64_t bytes) {
    *static_cast<cuuint64_t*>(value) = bytes;
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return answer(pool->release_threshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return answer(pool->reserved);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return answer(pool->reserved_high);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return answer(pool->used);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return answer(pool->used_high);
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
      const auto found = pool->switches.find(attribute);
      *static_cast<int*>(value) = found == pool->switches.end() ? 1 : found->second;
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace calls
}  // namespace fakecuda
