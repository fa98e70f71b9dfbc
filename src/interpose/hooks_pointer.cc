// What a program asks about a pointer. Of our memory the ledger answers, also while it is swapped
// out, and as if it were the driver's own cuMemAlloc.
#include <cstring>

#include "interpose/client.h"
#include "interpose/driver_hooks.h"
#include "interpose/gate_wait.h"
#include "interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

// The driver maps whole granules, and puts small allocations into one.
Bytes RoundDown(Bytes value) { return value - value % swap::kGranularity; }

template <typename T>
bool Put(void* data, T value) {
  std::memcpy(data, &value, sizeof(value));
  return true;
}

// false: the attribute is not one that the ledger answers.
bool AnswerFromLedger(const swap::Place& place, CUpointer_attribute attribute, CUdeviceptr address,
                      void* data) {
  const bool handle = place.kind == swap::Block::Kind::kHandle;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      // Memory that was mapped from a handle belongs to no context.
      return Put<CUcontext>(data, handle ? nullptr : place.owner);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Put<unsigned int>(data, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Put<CUdeviceptr>(data, address);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Put<unsigned int>(data, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Put<int>(data, place.device);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Put<unsigned long long>(data, place.buffer_id);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      // The range of a mapping is its reservation.
      if (handle && place.range_size == 0) return false;
      return Put<CUdeviceptr>(data, handle ? place.range_base : place.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      if (handle && place.range_size == 0) return false;
      return Put<std::size_t>(data, handle ? place.range_size : place.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Put<int>(data, 1);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Put<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Put<unsigned long long>(
          data,
          handle ? static_cast<unsigned long long>(place.properties.requestedHandleTypes) : 0ull);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return Put<int>(data, handle && place.properties.allocFlags.gpuDirectRDMACapable != 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Put<CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS>(data,
                                                      CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Put<CUmemoryPool>(data, nullptr);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Put<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Put<std::size_t>(
          data, RoundUp(place.base + place.size, swap::kGranularity) - RoundDown(place.base));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Put<CUdeviceptr>(data, RoundDown(place.base));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Put<unsigned long long>(data, place.buffer_id);
    default:
      return false;
  }
}

}  // namespace

CUresult cuPointerGetAttribute(decltype(&::cuPointerGetAttribute) real, void* data,
                               CUpointer_attribute attribute, CUdeviceptr ptr) {
  Client* client = Client::Get();
  swap::Place place;
  if (client == nullptr || data == nullptr) return real(data, attribute, ptr);
  if (!client->ledger().Find(ptr, &place)) {
    return real(data, attribute, ForTheDriver(*client, ptr));
  }
  if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
    // The host has no pointer to device memory.
    Put<void*>(data, nullptr);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return AnswerFromLedger(place, attribute, ptr, data) ? CUDA_SUCCESS : real(data, attribute, ptr);
}

CUresult cuPointerGetAttributes(decltype(&::cuPointerGetAttributes) real,
                                unsigned int numAttributes, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr ptr) {
  Client* client = Client::Get();
  swap::Place place;
  if (client == nullptr || numAttributes == 0 || attributes == nullptr || data == nullptr) {
    return real(numAttributes, attributes, data, ptr);
  }
  if (!client->ledger().Find(ptr, &place)) {
    return real(numAttributes, attributes, data, ForTheDriver(*client, ptr));
  }
  for (unsigned int i = 0; i < numAttributes; ++i) {
    if (AnswerFromLedger(place, attributes[i], ptr, data[i])) continue;
    if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
      Put<void*>(data[i], nullptr);
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
  swap::Place place;
  if (client != nullptr && client->ledger().Find(ptr, &place)) {
    // SYNC_MEMOPS comes with direct access by a network card, which must find the memory there.
    GateScope gate;
    client->StayResident("cuPointerSetAttribute");
    return real(value, attribute, ptr);
  }
  return real(value, attribute, ptr);
}

}  // namespace reveza::interpose::hooks
