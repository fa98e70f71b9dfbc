// Virtual memory management: reservations, physical memory, mappings.
#include <unistd.h>

#include "fakecuda/executor.h"
#include "fakecuda/state.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

bool IsDeviceLocation(const State& state, const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && state.card->HasDevice(location.id);
}

// The only node is 0. Drivers before CUDA 12.2 do not know the location.
CUresult CheckHostLocation(const State& state, const CUmemLocation& location) {
  constexpr int kFirstVersion = 12020;
  if (state.options.driver_version < kFirstVersion || location.id != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return state.options.host_virtual_memory ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CheckProperties(const State& state, const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {
    return CheckHostLocation(state, properties->location);
  }
  if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    return IsDeviceLocation(state, properties->location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  }
  return properties->location.type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE
                                                                   : CUDA_ERROR_NOT_SUPPORTED;
}

CUmemGenericAllocationHandle AddHandle(State& state, std::shared_ptr<Physical> physical) {
  if (physical->handle == 0) physical->handle = 0xc0000000 + 16 * state.next_id++;
  ++physical->handle_references;
  const CUmemGenericAllocationHandle handle = physical->handle;
  state.physicals[handle] = std::move(physical);
  return handle;
}

std::shared_ptr<Physical> FindHandle(const State& state, CUmemGenericAllocationHandle handle) {
  const auto found = state.physicals.find(handle);
  return found == state.physicals.end() ? nullptr : found->second;
}

// Returns memory that this process already holds, regardless of who exported it.
std::shared_ptr<Physical> FindById(State& state, std::uint64_t id) {
  for (const auto& [handle, physical] : state.physicals) {
    if (physical->info.id == id) return physical;
  }
  std::shared_ptr<Physical> found;
  state.addresses.ForEach(0, ~0ull, [&](const Mapping& mapping) {
    if (mapping.physical != nullptr && mapping.physical->info.id == id) found = mapping.physical;
  });
  return found;
}

}  // namespace

namespace calls {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  if (granularity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranule;
  return CheckProperties(State::Get(), properties);
}

CUresult cuMemAddressReserve(State& state, CUdeviceptr* pointer, size_t bytes, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags) {
  if (!state.options.virtual_memory) return CUDA_ERROR_NOT_SUPPORTED;
  if (pointer == nullptr || bytes == 0 || bytes % kGranule != 0 || flags != 0 ||
      (alignment & (alignment - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Reservation* made = state.addresses.Reserve(
      bytes, std::max<std::uint64_t>(alignment, kGranule), wanted, MemoryKind::kReserved);
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = made->start;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(State& state, CUdeviceptr pointer, size_t bytes) {
  const Reservation* found = state.addresses.FindReservation(pointer);
  if (found == nullptr || found->kind != MemoryKind::kReserved || found->start != pointer ||
      found->bytes != bytes || !state.addresses.Empty(pointer, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  state.addresses.Remove(pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  State& state = State::Get();
  if (!state.options.virtual_memory) return CUDA_ERROR_NOT_SUPPORTED;
  if (handle == nullptr || bytes == 0 || bytes % kGranule != 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RETURN_IF_ERROR(CheckProperties(state, properties));
  if ((properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  AllocationInfo info;
  const bool on_host = properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
  if (on_host ? !state.card->AllocateOnHost(bytes, properties->requestedHandleTypes, &info)
              : !state.card->Allocate(properties->location.id, bytes,
                                      properties->requestedHandleTypes, &info)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const StateLock lock(state.mutex);
  auto physical = std::make_shared<Physical>(state.card.get(), info);
  physical->properties = *properties;
  *handle = AddHandle(state, std::move(physical));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(State& state, CUmemGenericAllocationHandle handle) {
  const std::shared_ptr<Physical> physical = FindHandle(state, handle);
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (--physical->handle_references == 0) state.physicals.erase(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(State& state, CUdeviceptr pointer, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const std::shared_ptr<Physical> physical = FindHandle(state, handle);
  const Reservation* where = state.addresses.FindReservation(pointer);
  if (physical == nullptr || where == nullptr || where->kind != MemoryKind::kReserved ||
      flags != 0 || (pointer | offset) % kGranule != 0 || bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (offset != 0 || bytes > physical->info.bytes) return CUDA_ERROR_NOT_SUPPORTED;
  if (bytes != physical->info.bytes || bytes > where->start + where->bytes - pointer ||
      !state.addresses.Empty(pointer, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return state.addresses.Map(*where, pointer, physical) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemUnmap(State& state, StateLock& lock, CUdeviceptr pointer, size_t bytes) {
  const Reservation* where = state.addresses.FindReservation(pointer);
  if (where == nullptr || where->kind != MemoryKind::kReserved || bytes == 0 ||
      !state.addresses.CoveredExactly(pointer, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RevokeRange(lock, pointer, bytes);
  state.addresses.UnmapAll(pointer, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(State& state, CUdeviceptr pointer, size_t bytes,
                        const CUmemAccessDesc* descriptions, size_t count) {
  const Reservation* where = state.addresses.FindReservation(pointer);
  if (where == nullptr || where->kind != MemoryKind::kReserved || bytes == 0 ||
      descriptions == nullptr || count == 0 || !state.addresses.CoveredExactly(pointer, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool all_on_host = true;
  state.addresses.ForEach(pointer, bytes, [&](const Mapping& mapping) {
    all_on_host = all_on_host && mapping.physical->info.on_host;
  });
  for (std::size_t i = 0; i < count; ++i) {
    // The host's own access is not emulated.
    const bool host = descriptions[i].location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    if (host ? !all_on_host : !IsDeviceLocation(state, descriptions[i].location)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // Write-only does not exist; neither does read-only for device memory.
    if (descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  state.addresses.ForEach(pointer, bytes, [&](Mapping& mapping) {
    for (std::size_t i = 0; i < count; ++i) {
      if (descriptions[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) continue;
      const std::uint32_t device = 1u << descriptions[i].location.id;
      const bool read = descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
      const bool write = descriptions[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      mapping.readable = read ? mapping.readable | device : mapping.readable & ~device;
      mapping.writable = write ? mapping.writable | device : mapping.writable & ~device;
    }
  });
  return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(State& state, unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr pointer) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDeviceLocation(state, *location)) return CUDA_ERROR_INVALID_DEVICE;
  const Mapping* mapping = state.addresses.FindMapping(pointer);
  if (mapping == nullptr || mapping->physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = (mapping->writable >> location->id & 1) != 0   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : (mapping->readable >> location->id & 1) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                          : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(State& state, CUmemGenericAllocationHandle* handle,
                                     void* address) {
  const auto pointer = reinterpret_cast<CUdeviceptr>(address);
  const Reservation* where = state.addresses.FindReservation(pointer);
  const Mapping* mapping = state.addresses.FindMapping(pointer);
  if (handle == nullptr || where == nullptr || where->kind != MemoryKind::kReserved ||
      mapping == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *handle = AddHandle(state, mapping->physical);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(State& state, CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  const std::shared_ptr<Physical> physical = FindHandle(state, handle);
  if (properties == nullptr || physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = physical->properties;
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(State& state, void* shareable,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  const std::shared_ptr<Physical> physical = FindHandle(state, handle);
  if (shareable == nullptr || physical == nullptr || flags != 0 ||
      type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      (physical->info.handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int file = state.card->Export(physical->info.id);
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(shareable) = file;
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(State& state, CUmemGenericAllocationHandle* handle,
                                        void* os_handle, CUmemAllocationHandleType type) {
  if (handle == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto file = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
  const std::uint64_t id = Card::ImportedId(file);
  if (id == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Physical> physical = FindById(state, id);
  if (physical == nullptr) {
    AllocationInfo info;
    if (!state.card->Hold(id, &info)) return CUDA_ERROR_INVALID_VALUE;
    physical = std::make_shared<Physical>(state.card.get(), info);
    physical->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    physical->properties.location.type =
        info.on_host ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE;
    physical->properties.location.id = info.device;
    physical->properties.requestedHandleTypes =
        static_cast<CUmemAllocationHandleType>(info.handle_types);
  }
  *handle = AddHandle(state, std::move(physical));
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
