// Memory that only the driver can manage: pools, arrays, managed memory, graph memory nodes,
// imports. It stays where it is, and is counted, so that nobody plans with the room it takes.
#include <algorithm>
#include <vector>

#include "interpose/client.h"
#include "interpose/counted.h"
#include "interpose/driver_hooks.h"
#include "interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

void Forget(const void* object) {
  Client* client = Client::Get();
  CountedObjects::Entry entry;
  if (client != nullptr && client->counted().Remove(object, &entry)) {
    client->ReleasePinned(entry.ordinal, entry.bytes);
  }
}

const void* Key(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }

// Makes a counted object on the current device: waits for room, lets the driver make it, and
// remembers it under the key that `key_of` gives.
template <typename Make, typename KeyOf>
CUresult MakeCounted(Bytes bytes, Make make, KeyOf key_of) {
  Client* client = Client::Get();
  int ordinal = 0;
  CUcontext context = nullptr;
  if (client == nullptr || !CurrentDevice(&ordinal, &context) ||
      !client->ledger().HasDevice(ordinal)) {
    return make();
  }
  const Bytes counted = RoundUp(bytes, swap::kGranularity);
  GateScope gate;
  if (client->ReservePinned(ordinal, counted) == Answer::kRefused) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult result = make();
  if (result == CUDA_SUCCESS) {
    client->counted().Add(key_of(), ordinal, counted);
  } else {
    client->ReleasePinned(ordinal, counted);
  }
  return result;
}

Bytes BytesOf(CUarray_format format, Bytes elements, unsigned int channels) {
  Bytes each = 4;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      each = 1;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      each = 2;
      break;
    default:
      break;
  }
  return elements * each * std::max(1u, channels);
}

Bytes BytesOf(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  return BytesOf(array.Format,
                 std::max<Bytes>(1, array.Width) * std::max<Bytes>(1, array.Height) *
                     std::max<Bytes>(1, array.Depth),
                 array.NumChannels);
}

// The pool from which the current device allocates, and how much memory it holds.
class PoolMeter {
 public:
  explicit PoolMeter(CUmemoryPool pool) : pool_(pool) {}
  // The bytes that the pool has from the driver; 0 when it cannot be said.
  Bytes Reserved() const {
    cuuint64_t reserved = 0;
    if (pool_ == nullptr || Real().cuMemPoolGetAttribute == nullptr ||
        Real().cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) !=
            CUDA_SUCCESS) {
      return 0;
    }
    return reserved;
  }
  Bytes Used() const {
    cuuint64_t used = 0;
    if (pool_ == nullptr || Real().cuMemPoolGetAttribute == nullptr ||
        Real().cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) !=
            CUDA_SUCCESS) {
      return 0;
    }
    return used;
  }

 private:
  CUmemoryPool pool_;
};

// One allocation from a pool. A pool that must grow needs credit first: it is asked for as the
// growth that the driver will make at least.
template <typename Allocate>
CUresult FromPool(CUmemoryPool pool, Bytes bytes, CUstream stream, StreamKind kind,
                  Allocate allocate) {
  Client* client = Client::Get();
  int ordinal = 0;
  CUcontext context = nullptr;
  if (client == nullptr || !CurrentDevice(&ordinal, &context) ||
      !client->ledger().HasDevice(ordinal)) {
    return allocate();
  }
  GateScope gate(stream, kind);
  if (pool == nullptr && Real().cuDeviceGetMemPool != nullptr) {
    Real().cuDeviceGetMemPool(&pool, ordinal);
  }
  const PoolMeter meter(pool);
  const Bytes reserved = meter.Reserved();
  const Bytes idle = reserved - std::min(reserved, meter.Used());
  if (idle < bytes && !client->captures().Any()) {
    const Bytes growth = RoundUp(bytes, swap::kGranularity);
    if (client->ReservePinned(ordinal, growth) == Answer::kRefused) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    client->ReleasePinned(ordinal, growth);  // the credit stays spare until the pool is settled
  }
  const CUresult result = allocate();
  client->pools().Settle(client->ledger(), ordinal, pool, meter.Reserved());
  return result;
}

void SettlePool(CUmemoryPool pool) {
  Client* client = Client::Get();
  int ordinal = 0;
  CUcontext context = nullptr;
  if (client == nullptr || !CurrentDevice(&ordinal, &context)) return;
  if (pool == nullptr && Real().cuDeviceGetMemPool != nullptr) {
    Real().cuDeviceGetMemPool(&pool, ordinal);
  }
  client->pools().Settle(client->ledger(), ordinal, pool, PoolMeter(pool).Reserved());
}

void CountGraphMemory(int ordinal, Bytes bytes) {
  Client* client = Client::Get();
  if (client == nullptr) return;
  client->ledger().AddCounted(ordinal,
                              static_cast<std::int64_t>(RoundUp(bytes, swap::kGranularity)));
  client->BooksChanged();
}

void CountIfMemoryNode(const CUgraphNodeParams* node) {
  if (node == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return;
  CountGraphMemory(node->alloc.poolProps.location.id, node->alloc.bytesize);
}

}  // namespace

// ---- pools ----

CUresult cuMemAllocAsync(decltype(&::cuMemAllocAsync) real, CUdeviceptr* dptr, size_t bytesize,
                         CUstream hStream, StreamKind kind) {
  return FromPool(nullptr, bytesize, hStream, kind, [&] { return real(dptr, bytesize, hStream); });
}

CUresult cuMemAllocFromPoolAsync(decltype(&::cuMemAllocFromPoolAsync) real, CUdeviceptr* dptr,
                                 size_t bytesize, CUmemoryPool pool, CUstream hStream,
                                 StreamKind kind) {
  return FromPool(pool, bytesize, hStream, kind,
                  [&] { return real(dptr, bytesize, pool, hStream); });
}

CUresult cuMemFreeAsync(decltype(&::cuMemFreeAsync) real, CUdeviceptr dptr, CUstream hStream,
                        StreamKind kind) {
  Client* client = Client::Get();
  swap::Place place;
  if (client != nullptr && client->ledger().Find(dptr, &place)) {
    // The driver allows cuMemFreeAsync of cuMemAlloc memory: freed when the stream gets there.
    Real().cuStreamSynchronize(hStream);
    return Real().cuMemFree_v2 == nullptr ? CUDA_ERROR_NOT_SUPPORTED
                                          : hooks::cuMemFree(Real().cuMemFree_v2, dptr);
  }
  GateScope gate(hStream, kind);
  return real(dptr, hStream);
}

CUresult cuMemPoolDestroy(decltype(&::cuMemPoolDestroy) real, CUmemoryPool pool) {
  Client* client = Client::Get();
  int ordinal = 0;
  CUcontext context = nullptr;
  const CUresult result = real(pool);
  if (result == CUDA_SUCCESS && client != nullptr && CurrentDevice(&ordinal, &context)) {
    client->pools().Settle(client->ledger(), ordinal, pool, 0);
  }
  return result;
}

CUresult cuMemPoolTrimTo(decltype(&::cuMemPoolTrimTo) real, CUmemoryPool pool,
                         size_t minBytesToKeep) {
  const CUresult result = real(pool, minBytesToKeep);
  SettlePool(pool);
  return result;
}

// ---- arrays ----

CUresult cuArrayCreate(decltype(&::cuArrayCreate_v2) real, CUarray* pHandle,
                       const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (pHandle == nullptr || pAllocateArray == nullptr) return real(pHandle, pAllocateArray);
  const Bytes bytes = BytesOf(
      pAllocateArray->Format,
      std::max<Bytes>(1, pAllocateArray->Width) * std::max<Bytes>(1, pAllocateArray->Height),
      pAllocateArray->NumChannels);
  return MakeCounted(
      bytes, [&] { return real(pHandle, pAllocateArray); },
      [&] { return static_cast<const void*>(*pHandle); });
}

CUresult cuArray3DCreate(decltype(&::cuArray3DCreate_v2) real, CUarray* pHandle,
                         const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  if (pHandle == nullptr || pAllocateArray == nullptr) return real(pHandle, pAllocateArray);
  return MakeCounted(
      BytesOf(*pAllocateArray), [&] { return real(pHandle, pAllocateArray); },
      [&] { return static_cast<const void*>(*pHandle); });
}

CUresult cuArrayDestroy(decltype(&::cuArrayDestroy) real, CUarray hArray) {
  const CUresult result = real(hArray);
  if (result == CUDA_SUCCESS) Forget(hArray);
  return result;
}

CUresult cuMipmappedArrayCreate(decltype(&::cuMipmappedArrayCreate) real, CUmipmappedArray* pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr) {
    return real(pHandle, pMipmappedArrayDesc, numMipmapLevels);
  }
  // All smaller levels together are at most as large as the first.
  return MakeCounted(
      2 * BytesOf(*pMipmappedArrayDesc),
      [&] { return real(pHandle, pMipmappedArrayDesc, numMipmapLevels); },
      [&] { return static_cast<const void*>(*pHandle); });
}

CUresult cuMipmappedArrayDestroy(decltype(&::cuMipmappedArrayDestroy) real,
                                 CUmipmappedArray hMipmappedArray) {
  const CUresult result = real(hMipmappedArray);
  if (result == CUDA_SUCCESS) Forget(hMipmappedArray);
  return result;
}

// ---- managed memory, imports, graph memory, green contexts ----

CUresult cuMemAllocManaged(decltype(&::cuMemAllocManaged) real, CUdeviceptr* dptr, size_t bytesize,
                           unsigned int flags) {
  if (dptr == nullptr || bytesize == 0) return real(dptr, bytesize, flags);
  return MakeCounted(
      bytesize, [&] { return real(dptr, bytesize, flags); }, [&] { return Key(*dptr); });
}

CUresult cuGraphAddMemAllocNode(decltype(&::cuGraphAddMemAllocNode) real, CUgraphNode* phGraphNode,
                                CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  const CUresult result = real(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
  if (result == CUDA_SUCCESS && nodeParams != nullptr) {
    CountGraphMemory(nodeParams->poolProps.location.id, nodeParams->bytesize);
  }
  return result;
}

CUresult cuGraphAddNode(decltype(&::cuGraphAddNode) real, CUgraphNode* phGraphNode, CUgraph hGraph,
                        const CUgraphNode* dependencies, size_t numDependencies,
                        CUgraphNodeParams* nodeParams) {
  const CUresult result = real(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
  if (result == CUDA_SUCCESS) CountIfMemoryNode(nodeParams);
  return result;
}

CUresult cuGraphAddNode(decltype(&::cuGraphAddNode_v2) real, CUgraphNode* phGraphNode,
                        CUgraph hGraph, const CUgraphNode* dependencies,
                        const CUgraphEdgeData* dependencyData, size_t numDependencies,
                        CUgraphNodeParams* nodeParams) {
  const CUresult result =
      real(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
  if (result == CUDA_SUCCESS) CountIfMemoryNode(nodeParams);
  return result;
}

}  // namespace reveza::interpose::hooks

namespace reveza::interpose {

void ForgetManaged(CUdeviceptr address) { hooks::Forget(hooks::Key(address)); }

}  // namespace reveza::interpose
