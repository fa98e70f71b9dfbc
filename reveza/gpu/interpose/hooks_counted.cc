// Hooks of memory that only the driver can manage: arrays, managed memory, graph memory nodes. It
// cannot be swapped, but is counted as pinned memory of the client.
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

void ReleaseManaged(CUdeviceptr address) { hooks::Forget(hooks::Key(address), CUDA_SUCCESS); }

}  // namespace reveza::interpose
