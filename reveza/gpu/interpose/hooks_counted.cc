// Hooks of memory that only the driver can manage: arrays, graph memory nodes, managed memory. It
// is counted as pinned memory of the client, except for managed memory that can be prefetched
// (swap/managed.cc).
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

// Creates a counted object on the current device: reserves memory, calls `make`, and records
// `*object`.
template <typename Object, typename Make>
CUresult MakeCounted(Bytes bytes, const Object* object, Make make) {
  Client* client = Client::Get();
  const auto current = CountedCurrent(client);
  if (!current) return make();
  const Counted counted = {current->device, RoundUp(bytes, swap::kGranularity)};
  GateScope gate;
  if (!client->ReservePinned(counted.ordinal, counted.bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = make();
  if (result == CUDA_SUCCESS) {
    client->counted().Add(Key(*object), current->context, counted);
  } else {
    client->ReleasePinned(counted.ordinal, counted.bytes);
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

// Returns whether managed memory of the device can leave it and come back by prefetches. Without
// concurrent access the driver moves all of it at each launch.
bool CanPrefetch(const Client& client, int ordinal) {
  int concurrent = 0;
  return !client.resident() && client.swap_driver().Prefetch != nullptr &&
         Real().cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                     ordinal) == CUDA_SUCCESS &&
         concurrent != 0;
}

// Allocates managed memory with `make`, which sets `*address`, and lets the ledger swap it.
template <typename Make>
CUresult MakeManaged(Client& client, const Current& current, const CUdeviceptr* address,
                     Bytes bytes, Make make) {
  const GateScope gate;
  const CUresult reserved = Serve(client, current.device, [&] {
    return client.ledger().ReserveManaged(current.device, bytes);
  });
  if (reserved != CUDA_SUCCESS) return reserved;
  swap::ManagedRange range{.ordinal = current.device, .requested = bytes, .owner = current.context};
  range.resident = range.size();
  const CUresult result = make();
  if (result == CUDA_SUCCESS) {
    range.address = *address;
    client.ledger().AddManaged(range);
    client.UsageChanged();
  } else {
    client.ReleasePinned(range.ordinal, range.resident);
  }
  return result;
}

void KeepReadMostly(CUdeviceptr address, std::size_t size, CUmem_advise advice) {
  // Copies of it stay on the GPU when it is prefetched to the host.
  Client* client = Client::Get();
  if (client == nullptr || advice != CU_MEM_ADVISE_SET_READ_MOSTLY) return;
  client->ledger().FixManaged(address, size);
  client->UsageChanged();
}

// The graph memory of a device is counted from the first node on that allocates some.
void CountGraphMemory(int ordinal) {
  if (Client* client = Client::Get()) client->pools().AddGraphMemory(ordinal);
}

void CountIfMemoryNode(const CUgraphNodeParams* node) {
  if (node == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return;
  CountGraphMemory(node->alloc.poolProps.location.id);
}

}  // namespace

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

// ---- managed memory ----

CUresult cuMemAllocManaged(decltype(&::cuMemAllocManaged) real, CUdeviceptr* dptr, size_t bytesize,
                           unsigned int flags) {
  if (dptr == nullptr || bytesize == 0) return real(dptr, bytesize, flags);
  const auto make = [&] { return real(dptr, bytesize, flags); };
  Client* client = Client::Get();
  if (const auto current = CountedCurrent(client);
      current && CanPrefetch(*client, current->device)) {
    return MakeManaged(*client, *current, dptr, bytesize, make);
  }
  return MakeCounted(bytesize, dptr, make);
}

CUresult cuMemAdvise(decltype(&::cuMemAdvise) real, CUdeviceptr devPtr, size_t count,
                     CUmem_advise advice, CUdevice device) {
  const GateScope gate;
  KeepReadMostly(devPtr, count, advice);
  return real(devPtr, count, advice, device);
}

CUresult cuMemAdvise(decltype(&::cuMemAdvise_v2) real, CUdeviceptr devPtr, size_t count,
                     CUmem_advise advice, CUmemLocation location) {
  const GateScope gate;
  KeepReadMostly(devPtr, count, advice);
  return real(devPtr, count, advice, location);
}

// ---- graph memory ----

CUresult cuGraphAddMemAllocNode(decltype(&::cuGraphAddMemAllocNode) real, CUgraphNode* phGraphNode,
                                CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  const CUresult result = real(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
  if (result == CUDA_SUCCESS && nodeParams != nullptr) {
    CountGraphMemory(nodeParams->poolProps.location.id);
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

CUresult FreeCounted(Client& client, CUdeviceptr address, decltype(&::cuMemFree_v2) real) {
  const auto managed = client.ledger().RemoveManaged(address);
  const CUresult result = FreeResident(client, address, [&] { return real(address); });
  if (!managed) return hooks::Forget(hooks::Key(address), result);
  if (result == CUDA_SUCCESS) {
    client.ReleasePinned(managed->ordinal, managed->resident);
  } else {
    client.ledger().AddManaged(*managed);
  }
  return result;
}

}  // namespace reveza::interpose
