// Pointer attributes.
#include <optional>

#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

// The allocation, or the mapped memory, that contains an address.
struct Pointer {
  CUdeviceptr address = 0, start = 0;
  std::uint64_t bytes = 0;
  CUdeviceptr range_start = 0;  // of the whole reservation for mapped memory
  std::uint64_t range_bytes = 0;
  int device = 0;
  std::uint64_t id = 0;
  unsigned handle_types = 0;
  CUcontext context = nullptr;  // mapped memory belongs to no context
  CUmemoryPool pool = nullptr;
  MemoryKind kind = MemoryKind::kReserved;

  bool host() const { return kind == MemoryKind::kHost || kind == MemoryKind::kRegistered; }
  bool managed() const { return kind == MemoryKind::kManaged; }
  // The driver maps whole granules; small allocations share one.
  CUdeviceptr mapped_start() const { return start - start % kGranule; }
  std::uint64_t mapped_bytes() const { return RoundUp(start + bytes) - mapped_start(); }
};

std::optional<Pointer> FindPointer(State& state, CUdeviceptr address) {
  Pointer found{.address = address};
  if (const Allocation* own = FindAllocation(state, address)) {
    found.start = found.range_start = own->start;
    found.bytes = found.range_bytes = own->bytes;
    found.device = own->device;
    found.id = own->buffer_id;
    if (own->context != nullptr) found.context = own->context->handle;  // null: of a pool
    found.pool = own->pool;
    found.kind = own->kind;
    return found;
  }
  const Reservation* range = state.addresses.FindReservation(address);
  const Mapping* mapping = state.addresses.FindMapping(address);
  if (mapping == nullptr || range->kind != MemoryKind::kReserved) return std::nullopt;
  found.start = mapping->start;
  found.bytes = mapping->bytes;
  found.range_start = range->start;
  found.range_bytes = range->bytes;
  found.device = mapping->physical->info.device;
  found.id = mapping->physical->info.id;
  found.handle_types = mapping->physical->info.handle_types;
  return found;
}

template <typename Value>
CUresult Answer(void* data, Value value) {
  __builtin_memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult PointerAttribute(const Pointer& pointer, CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Answer(data, pointer.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Answer<unsigned>(data, pointer.host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Answer(data, pointer.address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (pointer.host() || pointer.managed()) return Answer(data, pointer.address);
      Answer<CUdeviceptr>(data, 0);
      return CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Answer<unsigned long long>(data, pointer.id);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return Answer<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Answer<int>(data, pointer.managed());
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Answer<int>(data, pointer.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Answer<int>(data, pointer.kind == MemoryKind::kNative);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Answer(data, pointer.range_start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Answer<std::size_t>(data, pointer.range_bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Answer<int>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Answer<unsigned long long>(data, pointer.handle_types);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Answer<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Answer(data, pointer.pool);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Answer<std::size_t>(data, pointer.mapped_bytes());
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Answer(data, pointer.mapped_start());
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// Fills in the results of cuPointerGetAttributes for an unknown pointer.
void AnswerNothing(CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Answer<int>(data, -2);
      return;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      Answer<int>(data, 0);
      return;
    default:
      Answer<unsigned long long>(data, 0);
  }
}

}  // namespace

namespace calls {

CUresult cuPointerGetAttribute(State& state, void* data, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Pointer> pointer = FindPointer(state, address);
  return pointer ? PointerAttribute(*pointer, attribute, data) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(State& state, unsigned count, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Pointer> pointer = FindPointer(state, address);
  for (unsigned i = 0; i < count; ++i) {
    if (!pointer || PointerAttribute(*pointer, attributes[i], data[i]) != CUDA_SUCCESS) {
      AnswerNothing(attributes[i], data[i]);
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(State& state, const void*, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !FindPointer(state, address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(Current&, State& state, CUdeviceptr* start, size_t* bytes,
                                 CUdeviceptr address) {
  const std::optional<Pointer> pointer = FindPointer(state, address);
  if (!pointer) return CUDA_ERROR_NOT_FOUND;
  if (start != nullptr) *start = pointer->start;
  if (bytes != nullptr) *bytes = pointer->bytes;
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
