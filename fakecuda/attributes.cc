// What the driver knows about a pointer.
#include "calls.h"
#include "memory.h"

namespace fakecuda {
namespace {

struct Pointer {
  CUdeviceptr address = 0;
  const Allocation* allocation = nullptr;
  const Reservation* reservation = nullptr;
  const Mapping* mapping = nullptr;

  bool host() const {
    return allocation != nullptr &&
           (allocation->kind == MemoryKind::kHost || allocation->kind == MemoryKind::kRegistered);
  }
  bool managed() const { return allocation != nullptr && allocation->kind == MemoryKind::kManaged; }
  bool known() const { return allocation != nullptr || mapping != nullptr; }
  CUdeviceptr start() const { return allocation != nullptr ? allocation->start : mapping->start; }
  std::uint64_t bytes() const { return allocation != nullptr ? allocation->bytes : mapping->bytes; }
  // The driver maps whole granules, and puts small allocations into one.
  CUdeviceptr mapped_start() const { return start() - start() % kGranule; }
  std::uint64_t mapped_bytes() const {
    const CUdeviceptr end = start() + bytes();
    return (end + kGranule - 1) / kGranule * kGranule - mapped_start();
  }
  int device() const {
    return allocation != nullptr ? allocation->device : mapping->physical->info.device;
  }
};

Pointer Find(State& state, CUdeviceptr address) {
  Pointer pointer{.address = address, .allocation = FindAllocation(state, address)};
  pointer.reservation = state.addresses.FindReservation(address);
  if (pointer.reservation != nullptr && pointer.reservation->kind == MemoryKind::kReserved) {
    pointer.mapping = state.addresses.FindMapping(address);
  }
  return pointer;
}

template <typename Value>
CUresult Answer(void* data, Value value) {
  __builtin_memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult Attribute(const Pointer& pointer, CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      // Memory that was mapped belongs to no context.
      return Answer<CUcontext>(
          data, pointer.allocation == nullptr ? nullptr : pointer.allocation->context->handle);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Answer<unsigned>(data, pointer.host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Answer<CUdeviceptr>(data, pointer.address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!pointer.host() && !pointer.managed()) {
        Answer<CUdeviceptr>(data, 0);
        return CUDA_ERROR_INVALID_VALUE;
      }
      return Answer<CUdeviceptr>(data, pointer.address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Answer<unsigned long long>(data, pointer.allocation != nullptr
                                                  ? pointer.allocation->buffer_id
                                                  : pointer.mapping->physical->info.id);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Answer<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Answer<int>(data, pointer.managed() ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Answer<int>(data, pointer.device());
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Answer<int>(
          data, pointer.allocation != nullptr && pointer.allocation->kind == MemoryKind::kNative);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Answer<CUdeviceptr>(
          data, pointer.mapping != nullptr ? pointer.reservation->start : pointer.start());
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Answer<std::size_t>(
          data, pointer.mapping != nullptr ? pointer.reservation->bytes : pointer.bytes());
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Answer<int>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Answer<unsigned long long>(
          data, pointer.mapping != nullptr ? pointer.mapping->physical->info.handle_types : 0);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return Answer<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Answer<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Answer<CUmemoryPool>(
          data, pointer.allocation == nullptr ? nullptr : pointer.allocation->pool);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Answer<std::size_t>(data, pointer.mapped_bytes());
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Answer<CUdeviceptr>(data, pointer.mapped_start());
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Answer<unsigned long long>(data, pointer.mapping != nullptr
                                                  ? pointer.mapping->physical->info.id
                                                  : pointer.allocation->buffer_id);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// What cuPointerGetAttributes answers for a pointer that the driver does not know.
void AnswerNothing(CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      Answer<unsigned>(data, 0);
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Answer<int>(data, -2);
      return;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      Answer<int>(data, 0);
      return;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      Answer<unsigned>(data, 0);
      return;
    default:
      Answer<unsigned long long>(data, 0);
  }
}

}  // namespace

namespace calls {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Pointer pointer = Find(state, address);
  if (!pointer.known()) return CUDA_ERROR_INVALID_VALUE;
  return Attribute(pointer, attribute, data);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Pointer pointer = Find(state, address);
  for (unsigned i = 0; i < count; ++i) {
    if (!pointer.known() || Attribute(pointer, attributes[i], data[i]) != CUDA_SUCCESS) {
      AnswerNothing(attributes[i], data[i]);
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void*, CUpointer_attribute attribute, CUdeviceptr address) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !Find(state, address).known()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* start, size_t* bytes, CUdeviceptr address) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  const Pointer pointer = Find(State::Get(), address);
  if (!pointer.known()) return CUDA_ERROR_NOT_FOUND;
  if (start != nullptr) *start = pointer.start();
  if (bytes != nullptr) *bytes = pointer.bytes();
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
