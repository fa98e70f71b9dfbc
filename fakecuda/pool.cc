// Stream-ordered memory: pools that keep what is freed until a synchronisation finds it too much.
#include "pool.h"

#include <algorithm>

#include "calls.h"
#include "executor.h"
#include "graph.h"
#include "memory.h"

namespace fakecuda {

CUmemoryPool DefaultPool(State& state, int device) {
  CUmemoryPool& handle = state.default_pools[static_cast<std::size_t>(device)];
  if (handle == nullptr) {
    auto pool = std::make_shared<Pool>();
    pool->device = device;
    handle = state.pools.Add(std::move(pool));
  }
  return handle;
}

void TrimPool(StateLock& lock, Pool& pool, std::uint64_t keep) {
  while (pool.cached_bytes > keep && !pool.cached.empty()) {
    const auto [bytes, start] = *pool.cached.begin();
    pool.cached.erase(pool.cached.begin());
    pool.cached_bytes -= bytes;
    ReleaseRange(lock, start);
  }
}

void TrimPools(StateLock& lock) {
  State& state = State::Get();
  const auto pools = state.pools.all();
  for (const auto& [number, pool] : pools) TrimPool(lock, *pool, pool->release_threshold);
}

namespace {

CUmemoryPool CurrentPool(State& state, int device) {
  const CUmemoryPool set = state.current_pools[static_cast<std::size_t>(device)];
  return state.pools.Find(set) != nullptr ? set : DefaultPool(state, device);
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
  CUresult result = MakeMemory(lock, context, pool.device, bytes, MemoryKind::kPool, start);
  if (result != CUDA_ERROR_OUT_OF_MEMORY || pool.cached.empty()) return result;
  TrimPool(lock, pool, 0);
  return MakeMemory(lock, context, pool.device, bytes, MemoryKind::kPool, start);
}

CUresult AllocateFrom(CUmemoryPool handle, CUdeviceptr* pointer, std::size_t bytes,
                      CUstream stream_handle, Current& current) {
  State& state = State::Get();
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, stream_handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  if (stream->capture != nullptr) {
    Invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;  // graph memory nodes do not exist here
  }
  const std::uint64_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
  const CUresult result = TakeMemory(current.lock, *current.context, *pool, rounded, pointer);
  if (result != CUDA_SUCCESS) return result;
  pool->used += rounded;
  pool->used_high = std::max(pool->used_high, pool->used);
  pool->reserved_high = std::max(pool->reserved_high, pool->used + pool->cached_bytes);
  state.allocations[*pointer] = {.start = *pointer,
                                 .bytes = bytes,
                                 .context = current.context,
                                 .device = pool->device,
                                 .kind = MemoryKind::kPool,
                                 .buffer_id = state.next_id++,
                                 .pool = handle};
  return CUDA_SUCCESS;
}

bool IsDevice(const State& state, CUdevice device) {
  return device >= 0 && device < state.card->devices();
}

}  // namespace

namespace calls {

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  const CUmemoryPool pool = CurrentPool(State::Get(), current.context->device);
  return AllocateFrom(pool, pointer, bytes, stream, current);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  return AllocateFrom(pool, pointer, bytes, stream, current);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream_handle) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, stream_handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  const auto at = state.allocations.find(pointer);
  if (at == state.allocations.end() || at->second.kind != MemoryKind::kPool) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->capture != nullptr) {
    Invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const std::shared_ptr<Pool> pool = state.pools.Find(at->second.pool);
  const std::uint64_t bytes = (at->second.bytes + kGranule - 1) / kGranule * kGranule;
  state.allocations.erase(at);
  Work work;
  work.engine = Engine::kInstant;
  work.even_after_failure = true;
  work.run = [pool, bytes, pointer](Execution&) {
    pool->used -= bytes;
    pool->cached.emplace(bytes, pointer);
    pool->cached_bytes += bytes;
    return CUDA_SUCCESS;
  };
  return Submit(current.lock, *stream, std::move(work));
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (!IsDevice(state, device)) return CUDA_ERROR_INVALID_DEVICE;
  *pool = DefaultPool(state, device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (!IsDevice(state, device)) return CUDA_ERROR_INVALID_DEVICE;
  *pool = CurrentPool(state, device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (!IsDevice(state, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (state.pools.Find(pool) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  state.current_pools[static_cast<std::size_t>(device)] = pool;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* properties) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (handle == nullptr || properties == nullptr ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      !IsDevice(state, properties->location.id)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  auto pool = std::make_shared<Pool>();
  pool->device = properties->location.id;
  pool->properties = *properties;
  *handle = state.pools.Add(std::move(pool));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || handle == state.default_pools[static_cast<std::size_t>(pool->device)]) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  state.pools.Remove(handle);
  TrimPool(lock, *pool, 0);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TrimPool(lock, *pool, keep > pool->used ? keep - pool->used : 0);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
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
      pool->reserved_high = pool->used + pool->cached_bytes;
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

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Pool> pool = state.pools.Find(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* wide = static_cast<cuuint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *wide = pool->release_threshold;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *wide = pool->used + pool->cached_bytes;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *wide = pool->reserved_high;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *wide = pool->used;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *wide = pool->used_high;
      return CUDA_SUCCESS;
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
