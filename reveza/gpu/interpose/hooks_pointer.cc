// Hooks of pointer queries. For our memory the ledger answers, also while it is swapped out, as the
// driver would for its own cuMemAlloc.
#include <cstring>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

// The driver maps whole granules and places small allocations within one.
Bytes RoundDown(Bytes value) { return value - value % swap::kGranularity; }

template <typename T>
bool Store(void* data, T value) {
  std::memcpy(data, &value, sizeof(value));
  return true;
}

// Stores the attribute in `data`. Returns false if the ledger does not know it.
bool AnswerFromLedger(const swap::AddressInfo& info, CUpointer_attribute attribute,
                      CUdeviceptr address, void* data) {
  const bool handle = info.kind == swap::Block::Kind::kHandle;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      // Memory mapped from a handle belongs to no context.
      return Store<CUcontext>(data, handle ? nullptr : info.owner);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Store<unsigned int>(data, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Store<CUdeviceptr>(data, address);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Store<unsigned int>(data, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Store<int>(data, info.device);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Store<unsigned long long>(data, info.buffer_id);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      // The range of a mapping is its address reservation.
      if (handle && info.range_size == 0) return false;
      return Store<CUdeviceptr>(data, handle ? info.range_base : info.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      if (handle && info.range_size == 0) return false;
      return Store<std::size_t>(data, handle ? info.range_size : info.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Store<int>(data, 1);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Store<int>(data, !handle && info.pool == nullptr);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Store<unsigned long long>(
          data,
          handle ? static_cast<unsigned long long>(info.properties.requestedHandleTypes) : 0ull);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return Store<int>(data, handle && info.properties.allocFlags.gpuDirectRDMACapable != 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Store<CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS>(data,
                                                        CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Store<CUmemoryPool>(data, StreamPools::HandleOf(info.pool));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Store<int>(data, info.pool != nullptr);  // as the driver answers
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Store<std::size_t>(
          data, RoundUp(info.base + info.size, swap::kGranularity) - RoundDown(info.base));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Store<CUdeviceptr>(data, RoundDown(info.base));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Store<unsigned long long>(data, info.buffer_id);
    default:
      return false;
  }
}

}  // namespace

CUresult cuPointerGetAttribute(decltype(&::cuPointerGetAttribute) real, void* data,
                               CUpointer_attribute attribute, CUdeviceptr ptr) {
  Client* client = Client::Get();
  swap::AddressInfo info;
  if (client == nullptr || data == nullptr) return real(data, attribute, ptr);
  if (!client->ledger().Find(ptr, &info)) {
    return real(data, attribute, DriverQueryAddress(*client, ptr));
  }
  if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
    // Device memory has no host pointer.
    Store<void*>(data, nullptr);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return AnswerFromLedger(info, attribute, ptr, data) ? CUDA_SUCCESS : real(data, attribute, ptr);
}

CUresult cuPointerGetAttributes(decltype(&::cuPointerGetAttributes) real,
                                unsigned int numAttributes, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr ptr) {
  Client* client = Client::Get();
  swap::AddressInfo info;
  if (client == nullptr || numAttributes == 0 || attributes == nullptr || data == nullptr) {
    return real(numAttributes, attributes, data, ptr);
  }
  if (!client->ledger().Find(ptr, &info)) {
    return real(numAttributes, attributes, data, DriverQueryAddress(*client, ptr));
  }
  for (unsigned int i = 0; i < numAttributes; ++i) {
    if (AnswerFromLedger(info, attributes[i], ptr, data[i])) continue;
    if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
      Store<void*>(data[i], nullptr);
      continue;
    }
    const CUresult result = real(1, &attributes[i], &data[i], ptr);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(decltype(&::cuPointerSetAttribute) real, const void* value,
                               CUpointer_attribute attribute, CUdeviceptr ptr) {
  Client* client = Client::Get();
  swap::AddressInfo info;
  if (client != nullptr && client->ledger().Find(ptr, &info)) {
    // SYNC_MEMOPS implies direct access by another device (RDMA): the memory must stay in place.
    GateScope gate;
    client->DisableSwapping("cuPointerSetAttribute");
    return real(value, attribute, ptr);
  }
  return real(value, attribute, ptr);
}

}  // namespace reveza::interpose::hooks
