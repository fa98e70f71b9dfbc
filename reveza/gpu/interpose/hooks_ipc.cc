// Hooks of legacy CUDA IPC. Handles of swappable memory are tickets (memory_tickets.h); those of
// the driver's own memory are the driver's.
#include <string.h>
#include <unistd.h>

#include <optional>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/memory_tickets.h"
#include "reveza/gpu/interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

// Returns the device with the UUID; nullopt if this process does not see it.
std::optional<int> FindDevice(const unsigned char (&uuid)[16]) {
  int count = 0;
  Real().cuDeviceGetCount(&count);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const CUuuid one = DeviceUuid(Real(), ordinal);
    if (memcmp(one.bytes, uuid, sizeof(uuid)) == 0) return ordinal;
  }
  return std::nullopt;
}

// Maps a handle of another process, which this takes, for the devices.
CUresult Map(CUmemGenericAllocationHandle handle, Bytes size, int first, int second,
             CUdeviceptr* base) {
  const DriverCalls& real = Real();
  CUmemAccessDesc access[2] = {};
  for (CUmemAccessDesc& one : access) {
    one.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  access[0].location.id = first;
  access[1].location.id = second;
  CUresult result = real.cuMemAddressReserve(base, size, swap::kGranularity, 0, 0);
  if (result == CUDA_SUCCESS) {
    result = real.cuMemMap(*base, size, 0, handle, 0);
    if (result == CUDA_SUCCESS) {
      result = real.cuMemSetAccess(*base, size, access, first == second ? 1 : 2);
      if (result != CUDA_SUCCESS) real.cuMemUnmap(*base, size);
    }
    if (result != CUDA_SUCCESS) real.cuMemAddressFree(*base, size);
  }
  real.cuMemRelease(handle);
  return result;
}

CUresult Open(Client& client, const MemoryTicket& ticket, const Current& current,
              CUdeviceptr* address) {
  if (client.ticket_office().IsOwn(ticket)) return CUDA_ERROR_INVALID_CONTEXT;  // as natively
  if (const CUresult refusal = Refusal(); refusal != CUDA_SUCCESS) return refusal;
  ImportedMemory& imported = client.imported_memory();
  *address = imported.Reopen(ticket, current.context);
  if (*address != 0) return CUDA_SUCCESS;
  const TicketAnswer answer = RedeemTicket(ticket);
  if (answer.problem != nullptr) {
    PrintNotice("cannot open GPU memory of another process: %s", answer.problem);
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int owner = FindDevice(ticket.device).value_or(current.device);
  const bool counted = client.ReservePinned(owner, answer.handle_size);
  CUresult result = counted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr base = 0;
  const RelaxedCapture relaxed;
  if (result == CUDA_SUCCESS) {
    result = Real().cuMemImportFromShareableHandle(
        &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(answer.file)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }
  close(answer.file);
  if (result == CUDA_SUCCESS) {
    result = Map(handle, answer.handle_size, current.device, owner, &base);
  }
  if (result != CUDA_SUCCESS) {
    if (counted) client.ReleasePinned(owner, answer.handle_size);
    return result;
  }
  *address = base + ticket.offset;
  imported.Add({.ticket = ticket,
                .context = current.context,
                .address = *address,
                .base = base,
                .size = answer.handle_size,
                .ordinal = owner});
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuIpcGetMemHandle(decltype(&::cuIpcGetMemHandle) real, CUipcMemHandle* pHandle,
                           CUdeviceptr dptr) {
  Client* client = Client::Get();
  swap::AddressInfo info;
  if (client == nullptr || pHandle == nullptr || !client->ledger().Find(dptr, &info)) {
    return real(pHandle, dptr);
  }
  if (const CUresult refusal = Refusal(); refusal != CUDA_SUCCESS) return refusal;
  swap::Ledger::Shared shared;
  const CUresult result = ServeIdle(
      *client, info.device, [&] { return client->ledger().DevicesWithAccess(dptr); },
      [&](bool idle) { return client->ledger().Share(dptr, &shared, idle); });
  if (result != CUDA_SUCCESS && info.kind != swap::Block::Kind::kHandle && info.pool == nullptr) {
    PrintNotice(
        "cuIpcGetMemHandle cannot share this memory: `reveza run --resident` leaves it to the"
        " driver");
  }
  if (result != CUDA_SUCCESS) return result;
  client->UsageChanged();
  MemoryTicket ticket{};
  if (!client->ticket_office().Issue(shared, DeviceUuid(Real(), info.device), &ticket)) {
    PrintNotice("cuIpcGetMemHandle cannot make a socket: GPU memory cannot be shared");
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  memcpy(pHandle->reserved, &ticket, sizeof(ticket));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(decltype(&::cuIpcOpenMemHandle_v2) real, CUdeviceptr* pdptr,
                            CUipcMemHandle handle, unsigned int Flags) {
  Client* client = Client::Get();
  const auto current = client != nullptr ? CurrentDevice() : std::nullopt;
  if (!current || pdptr == nullptr || !IsTicket(handle) ||
      (Flags & ~unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS}) != 0) {
    const GateScope gate;
    return real(pdptr, handle, Flags);
  }
  MemoryTicket ticket{};
  memcpy(&ticket, handle.reserved, sizeof(ticket));
  return Open(*client, ticket, *current, pdptr);
}

CUresult cuIpcCloseMemHandle(decltype(&::cuIpcCloseMemHandle) real, CUdeviceptr dptr) {
  Client* client = Client::Get();
  CUdeviceptr begin = 0;
  Bytes size = 0;
  int ordinal = 0;
  if (client == nullptr || !client->imported_memory().Find(dptr, &begin, &size, &ordinal)) {
    return real(dptr);
  }
  if (begin != dptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refusal = Refusal(); refusal != CUDA_SUCCESS) return refusal;
  const auto current = CurrentDevice();
  // Work that uses the memory was submitted before. Behind a closed gate it is over.
  const swap::Residency residency = client->ledger().residency();
  if (residency == swap::Residency::kIn || residency == swap::Residency::kUnmanaged) {
    std::vector<int> devices = {ordinal};
    if (current && current->device != ordinal) devices.push_back(current->device);
    if (!client->Synchronise(client->HoldContexts(devices), nullptr)) {
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  ImportedMemory::Mapping gone;
  if (!client->imported_memory().Close(dptr, &gone)) return CUDA_ERROR_INVALID_VALUE;
  if (gone.size > 0) client->Unmap(gone);
  return CUDA_SUCCESS;
}

}  // namespace reveza::interpose::hooks
