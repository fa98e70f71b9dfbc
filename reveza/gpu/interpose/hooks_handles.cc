// Hooks of the application's virtual memory management (cuMemCreate, cuMemMap, ...), behind virtual
// handles. Memory that is exported from the process is pinned and gets a driver handle.
#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

using swap::Ledger;

// Gets the driver handle behind a virtual one and pins its memory; other handles are returned as
// is.
CUresult RealHandle(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle* real) {
  *real = handle;
  Client* client = Client::Get();
  if (client == nullptr || !Ledger::IsOurHandle(handle)) return CUDA_SUCCESS;
  CUmemAllocationProp properties{};
  client->ledger().HandleProperties(handle, &properties);
  return ServeIdle(
      *client, properties.location.id,
      [&] { return client->ledger().DevicesWithAccessToHandle(handle); },
      [&](bool idle) { return client->ledger().Pin(handle, real, idle); });
}

// Pins the memory at an address of ours; no effect on other memory.
CUresult PinAddress(CUdeviceptr address) {
  Client* client = Client::Get();
  swap::AddressInfo info;
  if (client == nullptr || !client->ledger().Find(address, &info)) return CUDA_SUCCESS;
  CUmemGenericAllocationHandle real = 0;
  return ServeIdle(
      *client, info.device, [&] { return client->ledger().DevicesWithAccess(address); },
      [&](bool idle) { return client->ledger().PinAddress(address, &real, idle); });
}

// Creates memory that the driver manages, and counts it if it is of a device in use.
CUresult CreateByDriver(Client* client, decltype(&::cuMemCreate) real,
                        CUmemGenericAllocationHandle* handle, size_t size,
                        const CUmemAllocationProp* prop, unsigned long long flags) {
  const bool counted = client != nullptr && handle != nullptr && prop != nullptr &&
                       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                       client->ledger().HasDevice(prop->location.id);
  if (!counted) return real(handle, size, prop, flags);
  const Counted memory = {prop->location.id, size};
  if (!client->ReservePinned(memory.ordinal, memory.bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = real(handle, size, prop, flags);
  if (result == CUDA_SUCCESS) {
    client->driver_handles().Add(*handle, memory);
  } else {
    client->ReleasePinned(memory.ordinal, memory.bytes);
  }
  return result;
}

// Checks the descriptions by the driver's rules, since the driver cannot be asked while the memory
// is swapped out.
CUresult CheckAccess(const CUmemAccessDesc* descriptions, size_t count) {
  int devices = 0;
  Real().cuDeviceGetCount(&devices);
  for (size_t i = 0; i < count; ++i) {
    const CUmemLocation& location = descriptions[i].location;
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
        (location.id < 0 || location.id >= devices)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

// Records the peer access of our memory after a successful call. Returns `result`.
CUresult RecordPeerAccess(CUresult result, CUcontext peer_context, bool enabled) {
  Client* client = Client::Get();
  if (result == CUDA_SUCCESS && client != nullptr) client->SetPeerAccess(peer_context, enabled);
  return result;
}

}  // namespace

CUresult cuMemCreate(decltype(&::cuMemCreate) real, CUmemGenericAllocationHandle* handle,
                     size_t size, const CUmemAllocationProp* prop, unsigned long long flags) {
  Client* client = Client::Get();
  const bool ours = client != nullptr && handle != nullptr && prop != nullptr && flags == 0 &&
                    prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
                    prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                    prop->allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_NONE &&
                    prop->win32HandleMetaData == nullptr;
  if (!ours || client->resident()) return CreateByDriver(client, real, handle, size, prop, flags);
  const int ordinal = prop->location.id;
  return Serve(
      *client, ordinal, [&] { return client->ledger().CreateHandle(size, *prop, handle); },
      [&] { return real(handle, size, prop, flags); }, RoomForAllocation(*client, ordinal));
}

CUresult cuMemRelease(decltype(&::cuMemRelease) real, CUmemGenericAllocationHandle handle) {
  Client* client = Client::Get();
  if (client == nullptr) return real(handle);
  if (!Ledger::IsOurHandle(handle)) {
    const CUresult result = real(handle);
    if (result == CUDA_SUCCESS) client->ReleasePinned(client->driver_handles().Release(handle));
    return result;
  }
  return Serve(*client, 0, [&] { return client->ledger().ReleaseHandle(handle); });
}

CUresult cuMemMap(decltype(&::cuMemMap) real, CUdeviceptr ptr, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  Client* client = Client::Get();
  if (client == nullptr || !Ledger::IsOurHandle(handle)) {
    const CUresult result = real(ptr, size, offset, handle, flags);
    if (result == CUDA_SUCCESS && client != nullptr) client->driver_handles().Map(handle, ptr);
    return result;
  }
  CUmemAllocationProp properties{};
  client->ledger().HandleProperties(handle, &properties);
  return ServeIdle(
      *client, properties.location.id,
      [&] { return client->ledger().DevicesWithAccessToHandle(handle); },
      [&](bool idle) {
        return client->ledger().MapHandle(ptr, size, offset, handle, flags, idle);
      });
}

CUresult cuMemUnmap(decltype(&::cuMemUnmap) real, CUdeviceptr ptr, size_t size) {
  Client* client = Client::Get();
  if (client == nullptr) return real(ptr, size);
  return Serve(
      *client, 0, [&] { return client->ledger().Unmap(ptr, size); },
      [&] {
        const CUresult result = real(ptr, size);
        if (result == CUDA_SUCCESS)
          client->ReleasePinned(client->driver_handles().Unmap(ptr, size));
        return result;
      });
}

CUresult cuMemSetAccess(decltype(&::cuMemSetAccess) real, CUdeviceptr ptr, size_t size,
                        const CUmemAccessDesc* desc, size_t count) {
  Client* client = Client::Get();
  if (client == nullptr || desc == nullptr || !client->ledger().IsMapped(ptr, size)) {
    return real(ptr, size, desc, count);
  }
  const CUresult checked = CheckAccess(desc, count);
  if (checked != CUDA_SUCCESS) return checked;
  return Serve(
      *client, 0, [&] { return client->ledger().SetAccess(ptr, size, desc, count); },
      [&] { return real(ptr, size, desc, count); });
}

CUresult cuMemGetAccess(decltype(&::cuMemGetAccess) real, unsigned long long* flags,
                        const CUmemLocation* location, CUdeviceptr ptr) {
  Client* client = Client::Get();
  if (client == nullptr || flags == nullptr || location == nullptr) {
    return real(flags, location, ptr);
  }
  const swap::Reply reply = client->ledger().GetAccess(ptr, *location, flags);
  return reply.outcome == swap::Outcome::kForeign ? real(flags, location, ptr) : reply.error;
}

CUresult cuMemRetainAllocationHandle(decltype(&::cuMemRetainAllocationHandle) real,
                                     CUmemGenericAllocationHandle* handle, void* addr) {
  Client* client = Client::Get();
  if (client == nullptr || handle == nullptr) return real(handle, addr);
  const swap::Reply reply =
      client->ledger().RetainHandle(reinterpret_cast<CUdeviceptr>(addr), handle);
  if (reply.outcome != swap::Outcome::kForeign) return reply.error;
  const CUresult result = real(handle, addr);
  if (result == CUDA_SUCCESS) client->driver_handles().Retain(*handle);
  return result;
}

CUresult cuMemGetAllocationPropertiesFromHandle(
    decltype(&::cuMemGetAllocationPropertiesFromHandle) real, CUmemAllocationProp* prop,
    CUmemGenericAllocationHandle handle) {
  Client* client = Client::Get();
  if (client == nullptr || prop == nullptr || !Ledger::IsOurHandle(handle)) {
    return real(prop, handle);
  }
  return client->ledger().HandleProperties(handle, prop).error;
}

CUresult cuMemExportToShareableHandle(decltype(&::cuMemExportToShareableHandle) real,
                                      void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
  CUmemGenericAllocationHandle behind = 0;
  const CUresult result = RealHandle(handle, &behind);
  return result == CUDA_SUCCESS ? real(shareableHandle, behind, handleType, flags) : result;
}

CUresult cuMulticastBindMem(decltype(&::cuMulticastBindMem) real,
                            CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags) {
  CUmemGenericAllocationHandle behind = 0;
  const CUresult result = RealHandle(memHandle, &behind);
  return result == CUDA_SUCCESS ? real(mcHandle, mcOffset, behind, memOffset, size, flags) : result;
}

CUresult cuMulticastBindAddr(decltype(&::cuMulticastBindAddr) real,
                             CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                             CUdeviceptr memptr, size_t size, unsigned long long flags) {
  const CUresult result = PinAddress(memptr);
  return result == CUDA_SUCCESS ? real(mcHandle, mcOffset, memptr, size, flags) : result;
}

CUresult cuMulticastBindMem(decltype(&::cuMulticastBindMem_v2) real,
                            CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags) {
  CUmemGenericAllocationHandle behind = 0;
  const CUresult result = RealHandle(memHandle, &behind);
  return result == CUDA_SUCCESS ? real(mcHandle, dev, mcOffset, behind, memOffset, size, flags)
                                : result;
}

CUresult cuMulticastBindAddr(decltype(&::cuMulticastBindAddr_v2) real,
                             CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                             CUdeviceptr memptr, size_t size, unsigned long long flags) {
  const CUresult result = PinAddress(memptr);
  return result == CUDA_SUCCESS ? real(mcHandle, dev, mcOffset, memptr, size, flags) : result;
}

CUresult cuLogicalEndpointBindMem(decltype(&::cuLogicalEndpointBindMem) real,
                                  CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset,
                                  CUmemGenericAllocationHandle memHandle, cuuint64_t memOffset,
                                  cuuint64_t size, unsigned long long flags) {
  CUmemGenericAllocationHandle behind = 0;
  const CUresult result = RealHandle(memHandle, &behind);
  return result == CUDA_SUCCESS ? real(leId, dev, offset, behind, memOffset, size, flags) : result;
}

CUresult cuLogicalEndpointBindAddr(decltype(&::cuLogicalEndpointBindAddr) real,
                                   CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset,
                                   void* ptr, cuuint64_t size, unsigned long long flags) {
  const CUresult result = PinAddress(reinterpret_cast<CUdeviceptr>(ptr));
  return result == CUDA_SUCCESS ? real(leId, dev, offset, ptr, size, flags) : result;
}

CUresult cuMemGetHandleForAddressRange(decltype(&::cuMemGetHandleForAddressRange) real,
                                       void* handle, CUdeviceptr dptr, size_t size,
                                       CUmemRangeHandleType handleType, unsigned long long flags) {
  const CUresult result = PinAddress(dptr);
  return result == CUDA_SUCCESS ? real(handle, dptr, size, handleType, flags) : result;
}

CUresult cuMemMapArrayAsync(decltype(&::cuMemMapArrayAsync) real, CUarrayMapInfo* mapInfoList,
                            unsigned int count, CUstream hStream, StreamKind kind) {
  Client* client = Client::Get();
  for (unsigned int i = 0; client != nullptr && mapInfoList != nullptr && i < count; ++i) {
    CUmemGenericAllocationHandle& handle = mapInfoList[i].memHandle.memHandle;
    if (mapInfoList[i].memHandleType != CU_MEM_HANDLE_TYPE_GENERIC ||
        !Ledger::IsOurHandle(handle)) {
      continue;
    }
    CUmemGenericAllocationHandle behind = 0;
    const CUresult result = RealHandle(handle, &behind);
    if (result != CUDA_SUCCESS) return result;
    handle = behind;
  }
  GateScope gate(hStream, kind);
  return real(mapInfoList, count, hStream);
}

CUresult cuMemAddressReserve(decltype(&::cuMemAddressReserve) real, CUdeviceptr* ptr, size_t size,
                             size_t alignment, CUdeviceptr addr, unsigned long long flags) {
  const CUresult result = real(ptr, size, alignment, addr, flags);
  Client* client = Client::Get();
  if (result == CUDA_SUCCESS && client != nullptr) client->ledger().AddReservation(*ptr, size);
  return result;
}

CUresult cuMemAddressFree(decltype(&::cuMemAddressFree) real, CUdeviceptr ptr, size_t size) {
  Client* client = Client::Get();
  // A range with mappings cannot be freed; the driver does not know of swapped-out mappings.
  if (client != nullptr && client->ledger().IsMapped(ptr, size)) return CUDA_ERROR_INVALID_VALUE;
  // Before the call: another thread may get the same range as soon as it is freed.
  const Bytes recorded = client != nullptr ? client->ledger().RemoveReservation(ptr) : 0;
  const CUresult result = real(ptr, size);
  if (result != CUDA_SUCCESS && recorded > 0) client->ledger().AddReservation(ptr, recorded);
  return result;
}

CUresult cuCtxEnablePeerAccess(decltype(&::cuCtxEnablePeerAccess) real, CUcontext peerContext,
                               unsigned int Flags) {
  return RecordPeerAccess(real(peerContext, Flags), peerContext, true);
}

CUresult cuCtxDisablePeerAccess(decltype(&::cuCtxDisablePeerAccess) real, CUcontext peerContext) {
  return RecordPeerAccess(real(peerContext), peerContext, false);
}

}  // namespace reveza::interpose::hooks
