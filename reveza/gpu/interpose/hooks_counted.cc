// Hooks of memory that only the driver can manage: pools, arrays, managed memory, graph memory
// nodes. It cannot be swapped, but is counted as pinned memory of the client.
#include <algorithm>
#include <optional>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/counted.h"
#include "reveza/gpu/interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

// Ends the counting of an object after it was destroyed successfully. Returns `result`.
CUresult Forget(const void* object, CUresult result) {
  Client* client = Client::Get();
  if (result != CUDA_SUCCESS || client == nullptr) return result;
  if (const auto entry = client->counted().Remove(object)) {
    client->ReleasePinned(entry->ordinal, entry->bytes);
  }
  return result;
}

const void* Key(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }
const void* Key(const void* object) { return object; }

// Returns the device that is current, if its memory is counted.
std::optional<int> CountedDevice(Client* client) {
  const auto current = client != nullptr ? CurrentDevice() : std::nullopt;
  if (!current || !client->ledger().HasDevice(current->device)) return std::nullopt;
  return current->device;
}

// Creates a counted object on the current device: reserves memory, calls `make`, and records
// `*object`.
template <typename Object, typename Make>
CUresult MakeCounted(Bytes bytes, const Object* object, Make make) {
  Client* client = Client::Get();
  const auto ordinal = CountedDevice(client);
  if (!ordinal) return make();
  const Bytes counted = RoundUp(bytes, swap::kGranularity);
  GateScope gate;
  if (!client->ReservePinned(*ordinal, counted)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = make();
  if (result == CUDA_SUCCESS) {
    client->counted().Add(Key(*object), *ordinal, counted);
  } else {
    client->ReleasePinned(*ordinal, counted);
  }
  return result;
}

Bytes ArrayBytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  Bytes each = 4;
  switch (array.Format) {
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
  return each * std::max(1u, array.NumChannels) * std::max<Bytes>(1, array.Width) *
         std::max<Bytes>(1, array.Height) * std::max<Bytes>(1, array.Depth);
}

// Returns a size of a pool in bytes; 0 if the driver cannot tell.
Bytes PoolBytes(CUmemoryPool pool, CUmemPool_attribute attribute) {
  cuuint64_t value = 0;
  if (pool == nullptr || Real().cuMemPoolGetAttribute == nullptr ||
      Real().cuMemPoolGetAttribute(pool, attribute, &value) != CUDA_SUCCESS) {
    return 0;
  }
  return value;
}

// Returns what the pool has obtained from the driver.
Bytes PoolReserved(CUmemoryPool pool) {
  return PoolBytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

// Allocates from a pool (null: the device's default pool). If the pool must grow, credit for the
// minimum growth is obtained first.
template <typename Allocate>
CUresult FromPool(CUmemoryPool pool, Bytes bytes, CUstream stream, StreamKind kind,
                  Allocate allocate) {
  Client* client = Client::Get();
  const auto ordinal = CountedDevice(client);
  if (!ordinal) return allocate();
  GateScope gate(stream, kind);
  if (pool == nullptr && Real().cuDeviceGetMemPool != nullptr) {
    Real().cuDeviceGetMemPool(&pool, *ordinal);
  }
  const Bytes reserved = PoolReserved(pool);
  const Bytes used = PoolBytes(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  if (reserved - std::min(reserved, used) < bytes && !client->captures().Any()) {
    const Bytes growth = RoundUp(bytes, swap::kGranularity);
    if (!client->ReservePinned(*ordinal, growth)) return CUDA_ERROR_OUT_OF_MEMORY;
    client->ReleasePinned(*ordinal, growth);  // stays spare credit until Settle()
  }
  const CUresult result = allocate();
  client->pools().Settle(client->ledger(), *ordinal, pool, PoolReserved(pool));
  return result;
}

// Records that a pool of the current device now holds `reserved` bytes.
void SettlePool(CUmemoryPool pool, Bytes reserved) {
  Client* client = Client::Get();
  const auto current = client != nullptr ? CurrentDevice() : std::nullopt;
  if (current) client->pools().Settle(client->ledger(), current->device, pool, reserved);
}

void CountGraphMemory(int ordinal, Bytes bytes) {
  Client* client = Client::Get();
  if (client == nullptr) return;
  client->ledger().AddCounted(ordinal,
                              static_cast<std::int64_t>(RoundUp(bytes, swap::kGranularity)));
  client->UsageChanged();
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
  swap::AddressInfo info;
  if (client != nullptr && client->ledger().Find(dptr, &info)) {
    // The driver allows cuMemFreeAsync of cuMemAlloc memory, freed in stream order.
    return Real().cuMemFree_v2 == nullptr ? CUDA_ERROR_NOT_SUPPORTED
                                          : hooks::cuMemFree(Real().cuMemFree_v2, dptr);
  }
  GateScope gate(hStream, kind);
  return real(dptr, hStream);
}

CUresult cuMemPoolDestroy(decltype(&::cuMemPoolDestroy) real, CUmemoryPool pool) {
  const CUresult result = real(pool);
  if (result == CUDA_SUCCESS) SettlePool(pool, 0);
  return result;
}

CUresult cuMemPoolTrimTo(decltype(&::cuMemPoolTrimTo) real, CUmemoryPool pool,
                         size_t minBytesToKeep) {
  const CUresult result = real(pool, minBytesToKeep);
  if (pool != nullptr) SettlePool(pool, PoolReserved(pool));
  return result;
}

// ---- arrays ----

CUresult cuArrayCreate(decltype(&::cuArrayCreate_v2) real, CUarray* pHandle,
                       const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (pHandle == nullptr || pAllocateArray == nullptr) return real(pHandle, pAllocateArray);
  const CUDA_ARRAY3D_DESCRIPTOR array{pAllocateArray->Width,  pAllocateArray->Height,      0,
                                      pAllocateArray->Format, pAllocateArray->NumChannels, 0};
  return MakeCounted(ArrayBytes(array), pHandle, [&] { return real(pHandle, pAllocateArray); });
}

CUresult cuArray3DCreate(decltype(&::cuArray3DCreate_v2) real, CUarray* pHandle,
                         const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  if (pHandle == nullptr || pAllocateArray == nullptr) return real(pHandle, pAllocateArray);
  return MakeCounted(ArrayBytes(*pAllocateArray), pHandle,
                     [&] { return real(pHandle, pAllocateArray); });
}

CUresult cuArrayDestroy(decltype(&::cuArrayDestroy) real, CUarray hArray) {
  return Forget(hArray, real(hArray));
}

CUresult cuMipmappedArrayCreate(decltype(&::cuMipmappedArrayCreate) real, CUmipmappedArray* pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr) {
    return real(pHandle, pMipmappedArrayDesc, numMipmapLevels);
  }
  // All smaller levels together are at most as large as the first one.
  return MakeCounted(2 * ArrayBytes(*pMipmappedArrayDesc), pHandle,
                     [&] { return real(pHandle, pMipmappedArrayDesc, numMipmapLevels); });
}

CUresult cuMipmappedArrayDestroy(decltype(&::cuMipmappedArrayDestroy) real,
                                 CUmipmappedArray hMipmappedArray) {
  return Forget(hMipmappedArray, real(hMipmappedArray));
}

// ---- managed memory, imports, graph memory, green contexts ----

CUresult cuMemAllocManaged(decltype(&::cuMemAllocManaged) real, CUdeviceptr* dptr, size_t bytesize,
                           unsigned int flags) {
  if (dptr == nullptr || bytesize == 0) return real(dptr, bytesize, flags);
  return MakeCounted(bytesize, dptr, [&] { return real(dptr, bytesize, flags); });
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

void ReleaseManaged(CUdeviceptr address) { hooks::Forget(hooks::Key(address), CUDA_SUCCESS); }

}  // namespace reveza::interpose
